package cluster

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
)

// counters are the numbers a Node counts itself. Safe for concurrent use.
type counters struct {
	results   [resultKinds]atomic.Uint64 // calls of Submit, Receive and Read
	forwarded atomic.Uint64              // attempts sent to another node
	retries   atomic.Uint64              // attempts after the first of a call
	terms     atomic.Uint64              // that this node began as leader
	overloads atomic.Uint64              // commands of this node for which there was no room
	messages  messageCounters
	leader    *leader.Counters
}

// messageCounters count messages by the calls of this node. Those that expire or are
// dead-lettered are counted by the leader, so that the sum over all nodes is the
// truth.
type messageCounters struct {
	sent, duplicate, received, deleted atomic.Uint64
	emptyReceives                      atomic.Uint64
	published, publishedAgain          atomic.Uint64 // to topics
}

// callResult classifies how a call of the Node ended.
type callResult int

const (
	resultOK callResult = iota
	resultRefused
	resultUnavailable
	resultOverloaded
	resultUnknown
	resultCancelled
	resultKinds int = iota
)

var resultNames = [resultKinds]string{"ok", "refused", "unavailable", "overloaded", "unknown", "cancelled"}

func newCounters() *counters { return &counters{leader: leader.NewCounters()} }

// result counts what an answered command did.
func (m *messageCounters) result(r queue.Result) {
	switch r := r.(type) {
	case queue.MessagesSent:
		for i := range r.Entries {
			switch entry := &r.Entries[i]; {
			case entry.Err != nil:
			case entry.Duplicate:
				m.duplicate.Add(1)
			default:
				m.sent.Add(1)
			}
		}
	case queue.Published:
		for i := range r.Entries {
			if r.Entries[i].Duplicate {
				m.publishedAgain.Add(1)
			} else {
				m.published.Add(1)
			}
		}
	case queue.MessagesReceived:
		m.received.Add(uint64(len(r.Messages)))
		if len(r.Messages) == 0 {
			m.emptyReceives.Add(1)
		}
	}
}

// deletions counts the entries of a DeleteMessages that were not refused.
func (m *messageCounters) deletions(r queue.EntriesDone) {
	for _, err := range r.Errs {
		if err == nil {
			m.deleted.Add(1)
		}
	}
}
