package queue

import (
	"encoding/binary"

	"github.com/tidwall/btree"
)

// DeduplicationWindow remembers which deduplication ids were accepted when.
// One engine serves every scope and profile (decision 11).
//
// An id is kept as a 128-bit keyed hash over scope, scope part and id: without
// the key nobody can aim for equal hashes, and by chance the first collision
// is to be expected after some 10^19 ids. Memory per id is thereby independent
// of its length and holds no pointer for the garbage collector to follow.
type DeduplicationWindow struct {
	records *btree.BTreeG[deduplicationRecord]
	order   *btree.Map[uint64, deduplicationKey] // by acceptance
	// deadBefore makes records accepted at or before it dead whatever the
	// window is now, so that growing the window never brings an id back.
	deadBefore Timestamp
	// byScope counts records per scope: a lookup tries every scope that
	// may still have live ones after a scope change.
	byScope [3]int64
	// oldestAt is when the oldest record was accepted, if there is any:
	// every command asks for it.
	oldestAt Timestamp
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

func (a deduplicationRecord) less(b deduplicationRecord) bool {
	if a.key.high != b.key.high {
		return a.key.high < b.key.high
	}
	return a.key.low < b.key.low
}

func (r deduplicationRecord) sum(k keyed, incarnation uint64) sum128 {
	var buf [64]byte
	b := append(record(buf[:0]), kindDeduplication).num(incarnation).num(r.key.high).num(r.key.low)
	return k.sum(b.time(r.acceptedAt).num(r.position))
}

func newDeduplicationWindow() DeduplicationWindow {
	return DeduplicationWindow{
		records: btree.NewBTreeGOptions(deduplicationRecord.less, btree.Options{NoLocks: true}),
		order:   new(btree.Map[uint64, deduplicationKey]),
	}
}

func (w DeduplicationWindow) clone() DeduplicationWindow {
	w.records, w.order = w.records.Copy(), w.order.Copy()
	return w
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
//
// The look-up misses the cache all the way down the tree, which is a third of a
// send at 180,000 ids, but it is not wasted: it fetches the path that remember
// needs next. A Bloom filter in front of the tree only moved the misses there.
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
			r, ok := w.records.Get(deduplicationRecord{key: k.deduplicationKey(scope, ids, id)})
			if ok && q.live(r.acceptedAt, now) && (!found || r.position < first.position) {
				first, found = r, true
			}
		}
	}
	return first, found
}

// remember records an accepted send under its ids.
func (q *Queue) remember(k keyed, ids deduplicationIDs, sequence uint64, now Timestamp) {
	scope := q.attributes.Deduplication.Scope
	for i, id := range [2]string{ids.own, ids.content} {
		if id == "" || i == 1 && id == ids.own {
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
	if w.order.Len() == 0 {
		w.oldestAt = r.acceptedAt
	}
	w.order.Set(r.order(), r.key)
	w.byScope[r.scope()]++
	q.sums.deduplication.add(r.sum(k, q.incarnation))
	if old, was := w.records.Set(r); was { // dead, but not yet forgotten
		w.order.Delete(old.order())
		w.byScope[old.scope()]--
		q.sums.deduplication.sub(old.sum(k, q.incarnation))
		w.findOldest()
	}
}

// findOldest keeps oldestAt in step when the oldest record may have gone.
func (w *DeduplicationWindow) findOldest() {
	if _, key, ok := w.order.Min(); ok {
		r, _ := w.records.Get(deduplicationRecord{key: key})
		w.oldestAt = r.acceptedAt
	}
}

// forgetLag is how long a record may be dead before it is forgotten. Records
// then go in runs, which saves finding each in the large tree twice: at 300,000
// ids those look-ups, cache misses all, were the greatest cost of a send.
const forgetLag = 1 * Second

// forgetDead drops dead records, at most budget of them, if the oldest is
// overdue; it returns what is left of the budget.
func (q *Queue) forgetDead(k keyed, now Timestamp, budget int) int {
	w := &q.deduplication
	if w.order.Len() == 0 || q.windowDeadline() > now {
		return budget
	}
	for ; budget > 0; budget-- {
		order, key, ok := w.order.Min()
		if !ok {
			break
		}
		r, _ := w.records.Get(deduplicationRecord{key: key})
		if w.oldestAt = r.acceptedAt; q.live(r.acceptedAt, now) {
			break
		}
		pass("deduplication-expire")
		w.order.Delete(order)
		w.records.Delete(r)
		w.byScope[r.scope()]--
		q.sums.deduplication.sub(r.sum(k, q.incarnation))
	}
	if budget == 0 {
		w.findOldest()
	}
	return budget
}

// windowDeadline is when the oldest record is to be forgotten, zero if there
// is none.
func (q *Queue) windowDeadline() Timestamp {
	w := &q.deduplication
	if w.order.Len() == 0 {
		return 0
	}
	if w.oldestAt <= w.deadBefore {
		return w.oldestAt
	}
	return w.oldestAt.Add(Seconds(q.attributes.Deduplication.WindowSeconds) + forgetLag)
}

// liveIDs counts live records by binary search in the order of acceptance:
// dead ones that wait to be forgotten do not count.
func (q *Queue) liveIDs(now Timestamp) int64 {
	w := &q.deduplication
	dead := search(w.order.Len(), func(i int) bool {
		_, key, _ := w.order.GetAt(i)
		r, _ := w.records.Get(deduplicationRecord{key: key})
		return q.live(r.acceptedAt, now)
	})
	return int64(w.order.Len() - dead)
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
	q.deduplication = newDeduplicationWindow()
	q.deduplication.deadBefore = deadBefore
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
