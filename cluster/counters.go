package cluster

import (
	"errors"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
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

// messageCounters count messages by the calls of this node. The leader counts expired and
// dead-lettered messages, so that the sum over all nodes is correct.
type messageCounters struct {
	queues                    *leader.QueueCounters
	published, publishedAgain atomic.Uint64 // to topics
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

// newCounters returns counters with room for this number of queues.
func newCounters(queues int) *counters {
	c := &counters{leader: leader.NewCounters(queues)}
	c.messages.queues = c.leader.Queues
	return c
}

// result counts the effects of an answered command.
func (m *messageCounters) result(cmd queue.Command, r queue.Result) {
	name := cmd.QueueName()
	switch r := r.(type) {
	case queue.MessagesSent:
		m.sends(name, r.Entries)
	case queue.Published:
		for i := range r.Entries {
			if r.Entries[i].Duplicate {
				m.publishedAgain.Add(1)
			} else {
				m.published.Add(1)
			}
		}
	case queue.MessagesReceived:
		m.queues.Add(name, leader.Received, uint64(len(r.Messages)))
		if len(r.Messages) == 0 {
			m.queues.Add(name, leader.EmptyReceives, 1)
		}
	case queue.EntriesDone:
		if _, deletes := cmd.(*queue.DeleteMessages); deletes {
			m.queues.Add(name, leader.Deleted, done(r))
		}
	case queue.Done:
		if _, frees := cmd.(*queue.ForgetDeduplication); frees {
			m.queues.Add(name, leader.Freed, 1)
		}
	}
}

// refusal counts a send that was refused as a whole.
func (m *messageCounters) refusal(cmd queue.Command, err error) {
	var refused *queue.Error
	if _, sends := cmd.(*queue.SendMessages); sends && errors.As(err, &refused) && refused.Code == refusal.OverLimit {
		m.queues.Add(cmd.QueueName(), leader.Full, 1)
	}
}

func (m *messageCounters) sends(name string, entries []queue.SentEntry) {
	var sent, duplicates, full uint64
	for i := range entries {
		switch entry := &entries[i]; {
		case entry.Err != nil && entry.Err.Code == refusal.OverLimit:
			full++
		case entry.Err != nil:
		case entry.Duplicate:
			duplicates++
		default:
			sent++
		}
	}
	m.queues.Add(name, leader.Sent, sent)
	m.queues.Add(name, leader.Duplicates, duplicates)
	m.queues.Add(name, leader.Full, full)
}

// done counts the entries that were not refused.
func done(r queue.EntriesDone) (n uint64) {
	for _, err := range r.Errs {
		if err == nil {
			n++
		}
	}
	return n
}
