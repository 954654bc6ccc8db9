package queue

import (
	"encoding/binary"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

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

// deduplicationKey hashes one id under one scope. For partitionKey the part is
// the group id if given, else the partition key, else the id itself
// (servicebus.md 5.4: the id then chooses the partition, and detection is
// complete).
func deduplicationKey(k statehash.Key, scope DeduplicationScope, ids deduplicationIDs, id string) deduplication.Key {
	part := ""
	switch scope {
	case ScopeQueue: // one part for all
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
	var buf [2*limits.IDLengthMax + 16]byte
	r := append(statehash.Record(buf[:0]), statehash.KindDeduplication, byte(scope))
	r = binary.LittleEndian.AppendUint32(r, uint32(len(part)))
	r = append(append(r, part...), id...)
	s := k.Sum(r)
	return deduplication.Key{High: s.High, Low: s.Low}
}

// deduplicationSum is the record hash of a remembered id.
func deduplicationSum(k statehash.Key, r deduplication.Record, incarnation uint64) statehash.Sum {
	var buf [64]byte
	b := append(statehash.Record(buf[:0]), statehash.KindDeduplication).Num(incarnation).Num(r.Key.High).Num(r.Key.Low)
	return k.Sum(b.Num(uint64(r.AcceptedAt)).Num(r.Position()))
}

// window is the length of the queue's window in milliseconds.
func (q *Queue) window() int64 {
	return int64(logtime.Seconds(q.attributes.Deduplication.WindowSeconds))
}

// remembers reports whether an id accepted at t is still remembered at now.
func (q *Queue) remembers(t, now Timestamp) bool {
	return q.deduplication.Live(int64(t), int64(now), q.window())
}

// remembersSince reports whether whatever was accepted at a log time or later is
// still known by the rules in force now. A change at that very time may have been
// before or after.
func (q *Queue) remembersSince(since, now Timestamp) bool {
	return q.remembers(since, now) && q.createdAt < since && q.modifiedAt < since && q.purgedAt < since
}

// findDuplicate looks for a live record of one of the ids, under every scope
// that has records. Of several, which takes a scope change or a second key, the
// one accepted first is the original.
func (q *Queue) findDuplicate(k statehash.Key, ids deduplicationIDs, now Timestamp) (first deduplication.Record, found bool) {
	byScope := q.deduplication.ByScope()
	for scope := range ScopePartitionKey + 1 {
		if byScope[scope] == 0 {
			continue
		}
		for _, id := range [2]string{ids.own, ids.content} {
			if id == "" {
				continue
			}
			r, ok := q.deduplication.Find(deduplicationKey(k, scope, ids, id))
			if ok && q.remembers(Timestamp(r.AcceptedAt), now) && (!found || r.Position() < first.Position()) {
				first, found = r, true
			}
		}
	}
	return first, found
}

// remember records an accepted send under its ids.
func (q *Queue) remember(k statehash.Key, ids deduplicationIDs, sequence uint64, now Timestamp) {
	scope := q.attributes.Deduplication.Scope
	for i, id := range [2]string{ids.own, ids.second()} {
		if id != "" {
			key := deduplicationKey(k, scope, ids, id)
			q.putDeduplication(k, deduplication.NewRecord(key, int64(now), sequence<<1|uint64(i), uint8(scope)))
		}
	}
}

func (q *Queue) putDeduplication(k statehash.Key, r deduplication.Record) {
	if old, replaced := q.deduplication.Add(r); replaced {
		q.sums.deduplication.Sub(deduplicationSum(k, old, q.incarnation))
	}
	q.sums.deduplication.Add(deduplicationSum(k, r, q.incarnation))
}

// forgetLag is how long a record may be dead before it is forgotten. Records
// then go in runs, and not one with every send.
const forgetLag = 1 * logtime.Second

// forgetDead drops dead records, at most budget of them, if the oldest is
// overdue; it returns what is left of the budget.
func (q *Queue) forgetDead(k statehash.Key, now Timestamp, budget int) int {
	if q.deduplication.Len() == 0 || q.windowDeadline() > now {
		return budget
	}
	for ; budget > 0; budget-- {
		r, ok := q.deduplication.Oldest()
		if !ok || q.remembers(Timestamp(r.AcceptedAt), now) {
			break
		}
		q.deduplication.ForgetOldest()
		q.sums.deduplication.Sub(deduplicationSum(k, r, q.incarnation))
	}
	return budget
}

// windowDeadline is when the oldest record is to be forgotten, zero if there
// is none.
func (q *Queue) windowDeadline() Timestamp {
	oldest, ok := q.deduplication.Oldest()
	if !ok {
		return 0
	}
	if oldest.AcceptedAt <= q.deduplication.DeadBefore {
		return Timestamp(oldest.AcceptedAt)
	}
	return Timestamp(oldest.AcceptedAt + q.window()).Add(forgetLag)
}

// liveIDs counts the ids that are remembered at now.
func (q *Queue) liveIDs(now Timestamp) int64 {
	return q.deduplication.CountLive(int64(now), q.window())
}

// clearDeduplication forgets everything (PurgeQueue, recorded on AWS).
func (q *Queue) clearDeduplication() {
	q.deduplication.Clear()
	q.sums.deduplication = statehash.Sum{}
}

// changeWindow tells the window that its length was another one before.
func (q *Queue) changeWindow(oldSeconds int64, now Timestamp) {
	if oldSeconds != q.attributes.Deduplication.WindowSeconds {
		q.deduplication.Resize(int64(logtime.Seconds(oldSeconds)), int64(now))
	}
}
