package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// remembered is one deduplication record (servicebus.md 5.4).
type remembered struct {
	scope      string // scope in force when it was written
	part       string // what the id is unique within, under that scope
	id         string
	acceptedAt int64
	message    int
	number     int
}

// The values of DeduplicationScope.
const (
	scopeQueue     = "queue"
	scopeGroup     = "messageGroup"
	scopePartition = "partitionKey"
)

// ContentID is the deduplication id of a body (sqs.md 4.5).
func ContentID(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// live: accepted after deadBefore and less than one window ago.
func (b *Broker) live(q *Queue, r remembered) bool {
	age := b.now - r.acceptedAt
	window := q.Settings.Window * 1000
	if b.bugs[WindowInclusive] && age == window {
		return true
	}
	return r.acceptedAt > q.deadBefore && age < window
}

// Remembers says whether a queue would know all ids that it accepted at a moment
// or later: nothing has changed since, and a window is not over.
func (b *Broker) Remembers(name string, since int64) bool {
	q := b.queues[name]
	if q == nil || q.changedAt >= since || q.purged && q.purgedAt >= since {
		return false
	}
	return b.live(q, remembered{acceptedAt: since})
}

// Change notes a change of a queue that is none of the model's rules.
func (b *Broker) Change(name string) {
	if q := b.queues[name]; q != nil {
		q.changedAt = b.now
	}
}

// scopePart says within what an id is unique.
func (b *Broker) scopePart(scope, id, group, partition string) string {
	switch scope {
	case scopeGroup:
		if b.bugs[GroupIgnoredInScope] {
			return ""
		}
		return group
	case scopePartition:
		if group != "" {
			return group
		}
		if partition != "" {
			return partition
		}
		return id
	}
	return ""
}

// deduplicationIDs are the ids by which a message is recognised: its effective
// id and, with ContentDeduplicationMode=IdAndContent, its content hash
// (ymq.md 1.3).
func (b *Broker) deduplicationIDs(q *Queue, id, body string) []string {
	ids := []string{id}
	if q.Settings.IDAndContent && id != ContentID(body) && !b.bugs[ContentIgnored] {
		ids = append(ids, ContentID(body))
	}
	return ids
}

// original finds the earliest accepted live record of any of the ids. A record
// is compared under the scope it was written under, whatever the scope is now.
func (b *Broker) original(q *Queue, ids []string, group, partition string) *remembered {
	for i := range q.accepted { // in order of acceptance
		r := &q.accepted[i]
		if !b.live(q, *r) || b.bugs[ScopeChangeForgets] && r.scope != q.Settings.Scope {
			continue
		}
		for _, id := range ids {
			if r.id == id && r.part == b.scopePart(r.scope, id, group, partition) {
				return r
			}
		}
	}
	return nil
}

func (b *Broker) liveCount(q *Queue) int64 {
	n := int64(0)
	for _, r := range q.accepted {
		if b.live(q, r) {
			n++
		}
	}
	return n
}

// historyFull: MaxDeduplicationEntries would be exceeded. The cap is an error,
// never an eviction (README decision 11).
func (b *Broker) historyFull(q *Queue, more int) bool {
	limit := q.Settings.MaxEntries
	return limit > 0 && b.liveCount(q)+int64(more) > limit && !b.bugs[CapEvicts]
}

func (b *Broker) remember(q *Queue, ids []string, group, partition string, m *Message) {
	scope := q.Settings.Scope
	for _, id := range ids {
		q.accepted = append(q.accepted, remembered{
			scope: scope, part: b.scopePart(scope, id, group, partition), id: id,
			acceptedAt: b.now, message: m.ID, number: m.Number,
		})
	}
}

// changeWindow: shrinking acts at once, growing never brings an id back.
func (b *Broker) changeWindow(q *Queue, seconds int64) {
	if !b.bugs[WindowGrowthRevives] {
		q.deadBefore = max(q.deadBefore, b.now-q.Settings.Window*1000)
	}
	q.Settings.Window = seconds
}

// tidy drops records that can never be live again, so that searches stay short.
func (b *Broker) tidy(q *Queue) {
	q.accepted = slices.DeleteFunc(q.accepted, func(r remembered) bool {
		return r.acceptedAt <= q.deadBefore || b.now-r.acceptedAt > maxWindowMilliseconds
	})
}

const maxWindowMilliseconds = 604_800_000
