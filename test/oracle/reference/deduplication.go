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

// history has the remembered ids of a queue or topic, and its rules.
type history struct {
	rules    *Deduplication
	accepted []remembered
	// deadBefore is servicebus.md 5.4: ids accepted at or before it are
	// free, whatever the window says now.
	deadBefore int64
}

// live: accepted after deadBefore and less than one window ago.
func (b *Broker) live(h *history, r remembered) bool {
	age := b.now - r.acceptedAt
	window := h.rules.Window * 1000
	if b.bugs[WindowInclusive] && age == window {
		return true
	}
	return r.acceptedAt > h.deadBefore && age < window
}

// Remembers reports whether a queue would know all ids that it accepted at a moment
// or later: nothing has changed since, and a window is not over.
func (b *Broker) Remembers(name string, since int64) bool {
	q := b.queues[name]
	if q == nil || q.changedAt >= since || q.forgot && q.forgotAt >= since || q.purged && q.purgedAt >= since {
		return false
	}
	return b.live(&q.history, remembered{acceptedAt: since})
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
func (b *Broker) deduplicationIDs(h *history, id, body string) []string {
	ids := []string{id}
	if h.rules.IDAndContent && id != ContentID(body) {
		ids = append(ids, ContentID(body))
	}
	return ids
}

// original finds the earliest accepted live record of any of the ids. A record
// is compared under the scope it was written under, whatever the scope is now.
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

// historyFull: MaxDeduplicationEntries would be exceeded. The cap is an error,
// never an eviction (decision 11).
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

// changeWindow: shrinking acts at once, growing never brings an id back.
func (b *Broker) changeWindow(h *history, seconds int64) {
	h.deadBefore = max(h.deadBefore, b.now-h.rules.Window*1000)
	h.rules.Window = seconds
}

// tidy drops records that can never be live again, so that searches stay short.
func (b *Broker) tidy(h *history) {
	h.accepted = slices.DeleteFunc(h.accepted, func(r remembered) bool {
		return r.acceptedAt <= h.deadBefore || b.now-r.acceptedAt > maxWindowMilliseconds
	})
}

const maxWindowMilliseconds = 604_800_000
