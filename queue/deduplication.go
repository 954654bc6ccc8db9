package queue

import "encoding/binary"

// DeduplicationWindow remembers which deduplication ids were accepted when.
// One engine serves every scope and profile (decision 11).
//
// An id is kept as a 128-bit keyed hash over scope, scope part and id: without
// the key nobody can aim for equal hashes, and by chance the first collision
// is to be expected after some 10^19 ids. Memory per id is thereby independent
// of its length and holds no pointer for the garbage collector to follow.
type DeduplicationWindow struct {
	accepted acceptances
	index    deduplicationIndex // of all records in accepted; meaningless in a frozen copy
	// deadBefore makes records accepted at or before it dead whatever the
	// window is now, so that growing the window never brings an id back.
	deadBefore Timestamp
	// byScope counts records per scope: a lookup tries every scope that
	// may still have live ones after a scope change.
	byScope [3]int64
}

type deduplicationKey struct{ high, low uint64 }

type deduplicationRecord struct {
	key        deduplicationKey
	acceptedAt Timestamp
	// position orders records by acceptance: the sequence number of the
	// message, then one bit that is set on the second key of a message
	// (IdAndContent), then two bits of scope.
	position uint64
}

func (r deduplicationRecord) sequence() uint64          { return r.position >> 3 }
func (r deduplicationRecord) order() uint64             { return r.position >> 2 }
func (r deduplicationRecord) scope() DeduplicationScope { return DeduplicationScope(r.position & 3) }

func (r deduplicationRecord) sum(k keyed, incarnation uint64) sum128 {
	var buf [64]byte
	b := append(record(buf[:0]), kindDeduplication).num(incarnation).num(r.key.high).num(r.key.low)
	return k.sum(b.time(r.acceptedAt).num(r.position))
}

func (w DeduplicationWindow) clone() DeduplicationWindow {
	w.accepted = w.accepted.clone()
	return w
}

// find is the place of the record of a key.
func (w *DeduplicationWindow) find(key deduplicationKey) (place uint64, found bool) {
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
		if w.accepted.at(place).key == key {
			return place, true
		}
	}
	return 0, false
}

// forgetOldest takes out the oldest record, which is r.
func (w *DeduplicationWindow) forgetOldest(r deduplicationRecord) {
	w.index.remove(r.key.fingerprint(), w.accepted.front)
	w.byScope[r.scope()]--
	w.accepted.dropOldest()
	w.release()
}

// forget takes out the record at a place and returns it.
func (w *DeduplicationWindow) forget(place uint64) deduplicationRecord {
	r := *w.accepted.at(place)
	w.index.remove(r.key.fingerprint(), place)
	w.byScope[r.scope()]--
	w.accepted.takeOut(place)
	w.release()
	return r
}

// release gives back the memory of an index without entries.
func (w *DeduplicationWindow) release() {
	if w.accepted.len() == 0 {
		w.index = deduplicationIndex{}
	}
}

// deduplicationIDs are the ids a send is compared under: its own, and with
// IdAndContent also the hash of its content.
type deduplicationIDs struct {
	own     string
	content string // empty unless it is a second key
	group   string
	// partition is the PartitionKey, used if there is no group.
	partition string
}

// second is the other id that a send is recorded under, empty if there is none.
func (ids *deduplicationIDs) second() string {
	if ids.content == ids.own {
		return ""
	}
	return ids.content
}

// key hashes one id under one scope. For partitionKey the part is the group
// id if given, else the partition key, else the id itself (servicebus.md 5.4:
// the id then chooses the partition, and detection is complete).
func (k keyed) deduplicationKey(scope DeduplicationScope, ids deduplicationIDs, id string) deduplicationKey {
	part := ""
	switch scope {
	case ScopeMessageGroup:
		part = ids.group
	case ScopePartitionKey:
		if part = ids.group; part == "" {
			part = ids.partition
		}
		if part == "" {
			part = id
		}
	}
	var buf [2*IDLengthMax + 16]byte
	r := append(record(buf[:0]), kindDeduplication, byte(scope))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(part)))
	r = append(append(r, part...), id...)
	s := k.sum(r)
	return deduplicationKey{s.high, s.low}
}

// live reports whether an id accepted at t is still remembered at now: a send
// at exactly the window's end is new.
func (q *Queue) live(t, now Timestamp) bool {
	return t > q.deduplication.deadBefore &&
		now.Sub(t) < Seconds(q.attributes.Deduplication.WindowSeconds)
}

// remembersSince reports whether whatever was accepted at a log time or later is
// still known by the rules in force now. A change at that very time may have been
// before or after.
func (q *Queue) remembersSince(since, now Timestamp) bool {
	return q.live(since, now) && q.createdAt < since && q.modifiedAt < since && q.purgedAt < since
}

// findDuplicate looks for a live record of one of the ids, under every scope
// that has records. Of several, which takes a scope change or a second key, the
// one accepted first is the original.
func (q *Queue) findDuplicate(k keyed, ids deduplicationIDs, now Timestamp) (first deduplicationRecord, found bool) {
	w := &q.deduplication
	for scope := range ScopePartitionKey + 1 {
		if w.byScope[scope] == 0 {
			continue
		}
		for _, id := range [2]string{ids.own, ids.content} {
			if id == "" {
				continue
			}
			place, ok := w.find(k.deduplicationKey(scope, ids, id))
			if !ok {
				continue
			}
			if r := *w.accepted.at(place); q.live(r.acceptedAt, now) && (!found || r.position < first.position) {
				first, found = r, true
			}
		}
	}
	return first, found
}

// remember records an accepted send under its ids.
func (q *Queue) remember(k keyed, ids deduplicationIDs, sequence uint64, now Timestamp) {
	scope := q.attributes.Deduplication.Scope
	for i, id := range [2]string{ids.own, ids.second()} {
		if id == "" {
			continue
		}
		q.putDeduplication(k, deduplicationRecord{
			key:        k.deduplicationKey(scope, ids, id),
			acceptedAt: now,
			position:   sequence<<3 | uint64(i)<<2 | uint64(scope),
		})
	}
}

func (q *Queue) putDeduplication(k keyed, r deduplicationRecord) {
	w := &q.deduplication
	if place, known := w.find(r.key); known { // dead, but not yet forgotten
		old := w.forget(place)
		q.sums.deduplication.sub(old.sum(k, q.incarnation))
	}
	w.index.add(r.key.fingerprint(), w.accepted.append(r))
	w.byScope[r.scope()]++
	q.sums.deduplication.add(r.sum(k, q.incarnation))
}

// forgetLag is how long a record may be dead before it is forgotten. Records
// then go in runs, and not one with every send.
const forgetLag = 1 * Second

// forgetDead drops dead records, at most budget of them, if the oldest is
// overdue; it returns what is left of the budget.
func (q *Queue) forgetDead(k keyed, now Timestamp, budget int) int {
	w := &q.deduplication
	if w.accepted.len() == 0 || q.windowDeadline() > now {
		return budget
	}
	for ; budget > 0; budget-- {
		r, ok := w.accepted.oldest()
		if !ok || q.live(r.acceptedAt, now) {
			break
		}
		w.forgetOldest(r)
		q.sums.deduplication.sub(r.sum(k, q.incarnation))
	}
	return budget
}

// windowDeadline is when the oldest record is to be forgotten, zero if there
// is none.
func (q *Queue) windowDeadline() Timestamp {
	w := &q.deduplication
	oldest, ok := w.accepted.oldest()
	if !ok {
		return 0
	}
	if oldest.acceptedAt <= w.deadBefore {
		return oldest.acceptedAt
	}
	return oldest.acceptedAt.Add(Seconds(q.attributes.Deduplication.WindowSeconds) + forgetLag)
}

// liveIDs counts live records by binary search in the order of acceptance:
// dead ones that wait to be forgotten do not count. All that were taken out are
// among the dead, see putDeduplication.
func (q *Queue) liveIDs(now Timestamp) int64 {
	a := &q.deduplication.accepted
	all := int(a.end - a.front)
	dead := search(all, func(i int) bool { return q.live(a.at(a.front+uint64(i)).acceptedAt, now) })
	return int64(all - dead)
}

// search is the lowest of n indexes for which found, which is false up to some
// index and true from there on, or n.
func search(n int, found func(i int) bool) int {
	low, high := 0, n
	for low < high {
		if middle := (low + high) / 2; found(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// clearDeduplication forgets everything (PurgeQueue, recorded on AWS).
func (q *Queue) clearDeduplication() {
	deadBefore := q.deduplication.deadBefore
	q.deduplication = DeduplicationWindow{deadBefore: deadBefore}
	q.sums.deduplication = sum128{}
}

// changeWindow keeps dead ids dead when the window changes at now: shrinking
// acts at once, growing never revives an id that was already free.
func (q *Queue) changeWindow(oldSeconds int64, now Timestamp) {
	if oldSeconds == q.attributes.Deduplication.WindowSeconds {
		return
	}
	q.deduplication.deadBefore = max(q.deduplication.deadBefore, now.Add(-Seconds(oldSeconds)))
}
