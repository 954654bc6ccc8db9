package deduplication

import "github.com/tidwall/btree"

// Key is the keyed hash of an id within its scope: without the key of the hash
// nobody can aim for equal ones, and by chance the first collision is to be
// expected after some 10^19 ids.
type Key struct{ High, Low uint64 }

// Scopes is how many scopes an id may be unique within.
const Scopes = 3

// Record is one remembered id.
type Record struct {
	Key        Key
	AcceptedAt int64 // milliseconds
	// position orders records by acceptance: the sequence number of the
	// message, then one bit that is set on the second key of a message, then
	// two bits of scope.
	position uint64
}

// NewRecord makes the record of an id. Order is the sequence number of what was
// accepted, shifted left by one; the bit is set on its second key.
func NewRecord(key Key, acceptedAt int64, order uint64, scope Scope) Record {
	return Record{Key: key, AcceptedAt: acceptedAt, position: order<<2 | uint64(scope)}
}

// Sequence is the number of the message that was accepted.
func (r Record) Sequence() uint64 { return r.position >> 3 }

// Order is the place of the record in the order of acceptance.
func (r Record) Order() uint64 { return r.position >> 2 }

// Scope is what the id is unique within.
func (r Record) Scope() Scope { return Scope(r.position & 3) }

// Position is Order and Scope in one number, as the state hash has it.
func (r Record) Position() uint64 { return r.position }

// Window remembers accepted ids. The zero value is empty. Used by one
// goroutine, except that a Clone may be read by another one while the newest
// copy goes on being changed.
type Window struct {
	accepted acceptances
	index    index // of all records in accepted; meaningless in a copy that is not the newest
	// DeadBefore makes ids accepted at or before it dead whatever the length
	// of the window is now, so that a longer window never brings an id back.
	DeadBefore int64
	byScope    [Scopes]int64
	freed      *btree.Map[uint64, struct{}] // places of records taken out alive; nil if none was
}

// Clone is a copy to go on with. The original must not be changed any more, and
// no key can be found in it.
func (w Window) Clone() Window {
	w.accepted = w.accepted.clone()
	if w.freed != nil {
		w.freed = w.freed.Copy()
	}
	return w
}

// Len counts the records, dead ones that are not forgotten yet included.
func (w *Window) Len() int { return w.accepted.len() }

// ByScope counts the records of each scope.
func (w *Window) ByScope() [Scopes]int64 { return w.byScope }

// Live reports whether an id accepted at a time is still remembered at now in a
// window of some length: what comes at exactly its end is new.
func (w *Window) Live(acceptedAt, now, length int64) bool {
	return acceptedAt > w.DeadBefore && now-acceptedAt < length
}

// Find is the record of a key, dead or alive.
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
		// The slot has the low bits of a place not far behind front.
		place = front + uint64(uint32(s.slots[at])-uint32(front))
		if w.accepted.at(place).Key == key {
			return place, true
		}
	}
	return 0, false
}

// Add remembers an id accepted now. A record of the same id, dead but not yet
// forgotten, is replaced and returned.
func (w *Window) Add(r Record) (old Record, replaced bool) {
	if place, known := w.place(r.Key); known {
		old, replaced = w.forget(place), true
	}
	w.index.add(r.Key.fingerprint(), w.accepted.append(r))
	w.byScope[r.Scope()]++
	return old, replaced
}

// Oldest is the record accepted first.
func (w *Window) Oldest() (Record, bool) { return w.accepted.oldest() }

// Newest is the record accepted last.
func (w *Window) Newest() (Record, bool) { return w.accepted.newest() }

// warmOldest reads where the n oldest records are found, see Deduplicator.Warm.
func (w *Window) warmOldest(n int) (read uint64) {
	for place := w.accepted.front; place < min(w.accepted.front+uint64(n), w.accepted.end); place++ {
		read |= w.index.home(w.accepted.at(place).Key.fingerprint())
	}
	return read
}

// ForgetOldest takes out the record accepted first, which must exist.
func (w *Window) ForgetOldest() {
	r, _ := w.accepted.oldest()
	w.index.remove(r.Key.fingerprint(), w.accepted.front)
	w.byScope[r.Scope()]--
	w.accepted.dropOldest()
	w.release()
}

// forget takes out the record at a place and returns it.
func (w *Window) forget(place uint64) Record {
	r := *w.accepted.at(place)
	w.index.remove(r.Key.fingerprint(), place)
	w.byScope[r.Scope()]--
	w.accepted.takeOut(place)
	w.release()
	return r
}

// Free takes out the record of a key before its time.
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

// release gives back the memory of what has no entries any more.
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

// freedFrom counts the records that were freed at a place or behind it.
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

// Scan visits the records in the order of acceptance until visit returns false.
func (w *Window) Scan(visit func(Record) bool) { w.accepted.scan(visit) }

// CountLive counts live records by binary search in the order of acceptance:
// dead ones that wait to be forgotten do not count. What Add takes out is among
// the dead; what Free takes out is subtracted.
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

// Clear forgets all ids.
func (w *Window) Clear() { *w = Window{DeadBefore: w.DeadBefore} }

// Resize keeps dead ids dead when the length of the window changes at now:
// a shorter one acts at once, a longer one never revives an id that was free.
func (w *Window) Resize(oldLength, now int64) {
	w.DeadBefore = max(w.DeadBefore, now-oldLength)
}
