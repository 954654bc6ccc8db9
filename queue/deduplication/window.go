package deduplication

import "github.com/tidwall/btree"

// Key is the keyed hash of an id within its scope. Without the hash key, clients cannot construct
// collisions; by chance, the first one is expected after about 10^19 ids.
type Key struct{ High, Low uint64 }

// Scopes is the number of scopes.
const Scopes = 3

// Record is one remembered id.
type Record struct {
	Key        Key
	AcceptedAt int64 // milliseconds
	// position orders records by acceptance: sequence number, one bit for a message's second key,
	// two bits of scope.
	position uint64
}

// NewRecord returns the record of an id. Order is the message's sequence number shifted left by
// one; the low bit marks its second key.
func NewRecord(key Key, acceptedAt int64, order uint64, scope Scope) Record {
	return Record{Key: key, AcceptedAt: acceptedAt, position: order<<2 | uint64(scope)}
}

// Sequence returns the sequence number of the message.
func (r Record) Sequence() uint64 { return r.position >> 3 }

// Order returns the record's position in the order of acceptance.
func (r Record) Order() uint64 { return r.position >> 2 }

// Scope returns the scope of the id.
func (r Record) Scope() Scope { return Scope(r.position & 3) }

// Position returns Order and Scope in one number, for the state hash.
func (r Record) Position() uint64 { return r.position }

// Window remembers accepted ids. The zero value is empty. One goroutine uses it; another one may
// read a Clone.
type Window struct {
	accepted acceptances
	index    index // of the records in accepted; invalid in older copies
	// DeadBefore expires ids accepted at or before it, so that a longer window does not revive
	// them.
	DeadBefore int64
	byScope    [Scopes]int64
	freed      *btree.Map[uint64, struct{}] // places of records removed while live; nil if none
}

// Clone returns a writable copy. Stop changing the original and looking up keys in it.
func (w Window) Clone() Window {
	w.accepted = w.accepted.clone()
	if w.freed != nil {
		w.freed = w.freed.Copy()
	}
	return w
}

// Len counts the records, including expired ones.
func (w *Window) Len() int { return w.accepted.len() }

// ByScope counts the records of each scope.
func (w *Window) ByScope() [Scopes]int64 { return w.byScope }

// Live reports whether a window of some length still contains an id. At exactly its end the id is
// new.
func (w *Window) Live(acceptedAt, now, length int64) bool {
	return acceptedAt > w.DeadBefore && now-acceptedAt < length
}

// Find returns the record of a key, live or expired.
func (w *Window) Find(key Key) (r Record, found bool) {
	if place, found := w.place(key); found {
		return *w.accepted.at(place), true
	}
	return r, false
}

func (w *Window) place(key Key) (place uint64, found bool) {
	fingerprint := key.fingerprint()
	s := w.index.segment(fingerprint)
	if s == nil {
		return 0, false
	}
	front := w.accepted.front
	for at := int(fingerprint) & (len(s.slots) - 1); s.slots[at] != 0; at = s.next(at) {
		if uint32(s.slots[at]>>32) != fingerprint {
			continue
		}
		// The slot has the low bits of a place not far after front.
		place = front + uint64(uint32(s.slots[at])-uint32(front))
		if w.accepted.at(place).Key == key {
			return place, true
		}
	}
	return 0, false
}

// Add adds a record. It replaces and returns an expired record of the same id.
func (w *Window) Add(r Record) (old Record, replaced bool) {
	if place, known := w.place(r.Key); known {
		old, replaced = w.forget(place), true
	}
	w.index.add(r.Key.fingerprint(), w.accepted.append(r))
	w.byScope[r.Scope()]++
	return old, replaced
}

// Oldest returns the record accepted first.
func (w *Window) Oldest() (Record, bool) { return w.accepted.oldest() }

// Newest returns the record accepted last.
func (w *Window) Newest() (Record, bool) { return w.accepted.newest() }

// warmOldest reads the index slots of the n oldest records, see Deduplicator.Warm.
func (w *Window) warmOldest(n int) (read uint64) {
	for place := w.accepted.front; place < min(w.accepted.front+uint64(n), w.accepted.end); place++ {
		read |= w.index.home(w.accepted.at(place).Key.fingerprint())
	}
	return read
}

// ForgetOldest removes the oldest record, which must exist.
func (w *Window) ForgetOldest() {
	r, _ := w.accepted.oldest()
	w.index.remove(r.Key.fingerprint(), w.accepted.front)
	w.byScope[r.Scope()]--
	w.accepted.dropOldest()
	w.release()
}

// forget removes and returns the record at a place.
func (w *Window) forget(place uint64) Record {
	r := *w.accepted.at(place)
	w.index.remove(r.Key.fingerprint(), place)
	w.byScope[r.Scope()]--
	w.accepted.takeOut(place)
	w.release()
	return r
}

// Free removes the record of a key before it expires.
func (w *Window) Free(key Key) (Record, bool) {
	place, known := w.place(key)
	if !known {
		return Record{}, false
	}
	if w.freed == nil {
		w.freed = new(btree.Map[uint64, struct{}])
	}
	w.freed.Set(place, struct{}{})
	return w.forget(place), true
}

// release drops empty structures.
func (w *Window) release() {
	if w.accepted.len() == 0 {
		w.index, w.freed = index{}, nil
	}
	for w.freed != nil {
		place, _, some := w.freed.Min()
		if some && place >= w.accepted.front {
			return
		}
		if !some {
			w.freed = nil
			return
		}
		w.freed.Delete(place)
	}
}

// freedFrom counts the records freed at or after a place.
func (w *Window) freedFrom(place uint64) uint64 {
	if w.freed == nil {
		return 0
	}
	low, high := 0, w.freed.Len()
	for low < high {
		middle := (low + high) / 2
		if at, _, _ := w.freed.GetAt(middle); at >= place {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return uint64(w.freed.Len() - low)
}

// Scan visits the records in order of acceptance until visit returns false.
func (w *Window) Scan(visit func(Record) bool) { w.accepted.scan(visit) }

// CountLive counts live records by binary search in order of acceptance. Add replaces only expired
// records; freed ones are subtracted.
func (w *Window) CountLive(now, length int64) int64 {
	a := &w.accepted
	low, high := a.front, a.end
	for low < high {
		if middle := low + (high-low)/2; w.Live(a.at(middle).AcceptedAt, now, length) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return int64(a.end - low - w.freedFrom(low))
}

// Clear removes all ids.
func (w *Window) Clear() { *w = Window{DeadBefore: w.DeadBefore} }

// Resize updates DeadBefore when the length of the window changes at now. A shorter window takes
// effect at once; a longer one does not revive expired ids.
func (w *Window) Resize(oldLength, now int64) {
	w.DeadBefore = max(w.DeadBefore, now-oldLength)
}
