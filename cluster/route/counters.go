package route

import (
	"errors"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Counters count the calls of a node. Safe for concurrent use.
type Counters struct {
	Forwarded atomic.Uint64 // attempts sent to another node
	Retries   atomic.Uint64 // attempts after the first of a call
	Overloads atomic.Uint64 // commands of this node for which there was no room
	// Messages that topics accepted, and that they dropped as duplicates.
	Published, Duplicates atomic.Uint64

	results [resultKinds]atomic.Uint64
	queues  *leader.QueueCounters
}

// Results calls each with the number of calls that ended in each way.
func (c *Counters) Results(each func(result string, count uint64)) {
	for i := range c.results {
		each(resultNames[i], c.results[i].Load())
	}
}

// callResult classifies how a call ended.
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

// answered counts the effects of an answered command.
func (c *Counters) answered(cmd queue.Command, r queue.Result) {
	name := cmd.QueueName()
	switch r := r.(type) {
	case queue.MessagesSent:
		c.sends(name, r.Entries)
	case queue.Published:
		c.publishes(r.Entries)
	case queue.TransactionCommitted:
		c.committed(cmd.(*queue.CommitTransaction), r)
	case queue.MessagesReceived:
		c.queues.Add(name, leader.Received, uint64(len(r.Messages)))
		if len(r.Messages) == 0 {
			c.queues.Add(name, leader.EmptyReceives, 1)
		}
	case queue.EntriesDone:
		if _, deletes := cmd.(*queue.DeleteMessages); deletes {
			c.queues.Add(name, leader.Deleted, done(r))
		}
	case queue.Done:
		if _, frees := cmd.(*queue.ForgetDeduplication); frees {
			c.queues.Add(name, leader.Freed, 1)
		}
	}
}

// committed counts the parts of a transaction.
func (c *Counters) committed(cmd *queue.CommitTransaction, r queue.TransactionCommitted) {
	for i := range r.Sends {
		c.sends(cmd.Sends[i].Queue, r.Sends[i].Entries)
	}
	for i := range r.Publishes {
		c.publishes(r.Publishes[i].Entries)
	}
	for i := range cmd.Settlements {
		if s := &cmd.Settlements[i]; s.Action == queue.CompleteMessage {
			c.queues.Add(s.Queue, leader.Deleted, 1)
		}
	}
}

func (c *Counters) publishes(entries []queue.PublishedEntry) {
	for i := range entries {
		if entries[i].Duplicate {
			c.Duplicates.Add(1)
		} else {
			c.Published.Add(1)
		}
	}
}

// refused counts a send that was refused as a whole.
func (c *Counters) refused(cmd queue.Command, err error) {
	var refused *queue.Error
	if _, sends := cmd.(*queue.SendMessages); sends && errors.As(err, &refused) && refused.Code == refusal.OverLimit {
		c.queues.Add(cmd.QueueName(), leader.Full, 1)
	}
}

func (c *Counters) sends(name string, entries []queue.SentEntry) {
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
	c.queues.Add(name, leader.Sent, sent)
	c.queues.Add(name, leader.Duplicates, duplicates)
	c.queues.Add(name, leader.Full, full)
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
