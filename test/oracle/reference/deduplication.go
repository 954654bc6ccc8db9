package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// remembered is one deduplication record (servicebus.md 5.4).
type remembered struct {
	scope      string // the scope in force when it was accepted
	part       string // where the id is unique in that scope
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

// ContentID returns the deduplication id of a body (sqs.md 4.5).
func ContentID(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// history contains the remembered ids of a queue or topic, and its rules.
type history struct {
	rules    *Deduplication
	accepted []remembered
	// Ids accepted at deadBefore or earlier are free, whatever the window is now (servicebus.md
	// 5.4).
	deadBefore int64
}

// live reports whether a record was accepted after deadBefore and less than one window ago.
func (b *Broker) live(h *history, r remembered) bool {
	age := b.now - r.acceptedAt
	return r.acceptedAt > h.deadBefore && age < h.rules.Window*1000
}

// Remembers reports whether a queue still knows all ids that it accepted at a time or later: it was
// not changed since, and less than a window has passed.
func (b *Broker) Remembers(name string, since int64) bool {
	q, err := b.find(name)
	if err != nil || q.changedAt >= since || q.forgot && q.forgotAt >= since || q.purged && q.purgedAt >= since {
		return false
	}
	return b.live(&q.history, remembered{acceptedAt: since})
}

// Change records a change of a queue for which the model has no rule.
func (b *Broker) Change(name string) {
	if q := b.queues[name]; q != nil {
		q.changedAt = b.now
	}
}

// scopePart returns where an id is unique.
func (b *Broker) scopePart(scope, id, group, partition string) string {
	switch scope {
	case scopeGroup:
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

// deduplicationIDs returns the ids of a message: its effective id and, with
// ContentDeduplicationMode=IdAndContent, its content hash (ymq.md 1.3).
func (b *Broker) deduplicationIDs(h *history, id, body string) []string {
	ids := []string{id}
	if h.rules.IDAndContent && id != ContentID(body) {
		ids = append(ids, ContentID(body))
	}
	return ids
}

// original returns the earliest live record with one of the ids. Records are compared in the scope
// in which they were accepted, whatever the scope is now.
func (b *Broker) original(h *history, ids []string, group, partition string) *remembered {
	for i := range h.accepted { // in order of acceptance
		r := &h.accepted[i]
		if !b.live(h, *r) {
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

func (b *Broker) liveCount(h *history) int64 {
	n := int64(0)
	for _, r := range h.accepted {
		if b.live(h, r) {
			n++
		}
	}
	return n
}

// historyFull reports whether MaxDeduplicationEntries would be exceeded. This is an error; no
// record is dropped for it (decision 11).
func (b *Broker) historyFull(h *history, more int) bool {
	limit := h.rules.MaxEntries
	return limit > 0 && b.liveCount(h)+int64(more) > limit
}

func (b *Broker) remember(h *history, ids []string, group, partition string, message, number int) {
	scope := h.rules.Scope
	for _, id := range ids {
		h.accepted = append(h.accepted, remembered{
			scope: scope, part: b.scopePart(scope, id, group, partition), id: id,
			acceptedAt: b.now, message: message, number: number,
		})
	}
}

// changeWindow changes the window. A shorter one applies at once, a longer one restores no id.
func (b *Broker) changeWindow(h *history, seconds int64) {
	h.deadBefore = max(h.deadBefore, b.now-h.rules.Window*1000)
	h.rules.Window = seconds
}

// tidy deletes records that cannot be live again, which keeps searches short.
func (b *Broker) tidy(h *history) {
	h.accepted = slices.DeleteFunc(h.accepted, func(r remembered) bool {
		return r.acceptedAt <= h.deadBefore || b.now-r.acceptedAt > maxWindowMilliseconds
	})
}

const maxWindowMilliseconds = 604_800_000
