package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// Rules that decide differently since a format version. While a cluster is
// upgraded, nodes of two programs apply the same log, and a log is replayed to
// the same state for ever. So an old rule goes on deciding until the cluster
// raises its format version; each constant is the version that brings the new
// one.
//
// Add a rule with a constant of the format version that is not released yet,
// ruleXxx uint32 = 5, and ask b.follows(ruleXxx) where the old and the new rule
// part; keep the old one in the other branch. The version is format.CurrentVersion.
const (
	// ruleHandOutsHere counts against maxReceiveCount how often this queue
	// handed a message out. Before, receives from the queue it was moved from
	// counted, too, so that a dead-letter queue with a policy of its own could
	// move a message on without ever delivering it.
	ruleHandOutsHere uint32 = 2
	// ruleMoveBesideInFlight lets a move task go on while InFlightMax messages
	// are in flight. Before, it was COMPLETED.
	ruleMoveBesideInFlight uint32 = 2
	// ruleEveryKeyCounts counts both ids of a message against
	// MaxDeduplicationEntries. Before, the second could exceed it.
	ruleEveryKeyCounts uint32 = 2
	// ruleOldestFirst serves a standard queue by age. Before, what came back
	// went behind all that had been sent by then.
	ruleOldestFirst uint32 = 2
	// ruleMoveKeepsKeys keeps the partition key of a message, and compares a
	// message that a task moves under all its keys.
	ruleMoveKeepsKeys uint32 = 2
	// ruleStreamedCommands is the version of commands with Streamed set.
	ruleStreamedCommands uint32 = 3
	// ruleStoredBodies is the version of snapshots that refer to stored bodies. Before,
	// all bodies are in memory, so that an older program can start with the directory.
	ruleStoredBodies uint32 = 3
	// ruleAbandonedFirst hands out first what the holder of a session has abandoned, also
	// while more timers are due than one command fires. Before, what came later could
	// overtake it.
	ruleAbandonedFirst uint32 = 4
	// ruleAbandonAtAnyAge lets the holder of a session abandon a message that it has had for
	// more than 12 hours.
	ruleAbandonAtAnyAge uint32 = 4
	// ruleDeferredKept keeps deferred messages for as long as they are deferred. Before, the
	// retention period deleted them.
	ruleDeferredKept uint32 = 5
	// rulePromptSchedule delivers a scheduled message when it was asked for. Before, the
	// DelaySeconds of the queue came on top.
	rulePromptSchedule uint32 = 5
	// ruleReasonOfCount gives messages that are dead-lettered for their receive count a
	// DeadLetterReason, on queues with rules of Service Bus.
	ruleReasonOfCount uint32 = 5
	// ruleTracedPublish is the version of a Publish with trace headers. Before, they are
	// dropped.
	ruleTracedPublish uint32 = 5
	// ruleKeptCounts counts what topics store for the quota of their account: their archives,
	// and what waits for HTTP subscribers. Before, it is counted and has no effect.
	ruleKeptCounts uint32 = 5
	// ruleSealedSecrets is the version of access keys whose secret is sealed. Before, the
	// secret is in clear.
	ruleSealedSecrets uint32 = 5
)

// follows reports whether a rule is in force. A state without a format version
// is new: its log cannot have a queue yet, except in tests.
func (b *Broker) follows(rule uint32) bool {
	return b.formatVersion == 0 || b.formatVersion >= rule
}

// changeRules raises the format version and files anew what the new rules order
// differently. It takes time in proportion to the messages that are visible
// again, once in the life of a cluster.
func (b *Broker) changeRules(version uint32) {
	oldestFirst, deferredKept := b.follows(ruleOldestFirst), b.follows(ruleDeferredKept)
	b.formatVersion = version
	oldestFirst, deferredKept = b.follows(ruleOldestFirst) != oldestFirst, b.follows(ruleDeferredKept) != deferredKept
	if !oldestFirst && !deferredKept {
		return
	}
	var again []*Queue
	b.queues.Scan(func(_ string, q *Queue) bool {
		if oldestFirst && !q.attributes.FIFO || deferredKept && q.attributes.FIFO {
			again = append(again, q)
		}
		return true
	})
	for _, q := range again {
		if q = b.own(q); !q.attributes.FIFO {
			q.serveOldestFirst(b.follows(ruleOldestFirst))
			continue
		}
		q.aside.kept = b.follows(ruleDeferredKept)
		b.register(q) // as a replica does that reads the queue from a snapshot
	}
}

// serveOldestFirst changes the order of a standard queue.
func (q *Queue) serveOldestFirst(on bool) {
	before := q.ready.redelivered
	q.ready.oldestFirst, q.ready.redelivered = on, newTimedTree()
	before.Scan(func(t timed) bool {
		m, _ := q.messages.Get(t.sequence)
		q.ready.redelivered.Set(q.readyKey(m))
		return true
	})
}

// SetFormatVersion raises the version of commands and snapshots that the
// cluster may write. It never goes down.
type SetFormatVersion struct{ Version uint32 }

// QueueName implements Command.
func (*SetFormatVersion) QueueName() string { return "" }

// Validate refuses version zero, the one of a new state.
func (c *SetFormatVersion) Validate() *Error {
	if c.Version == 0 {
		return refusal.New(refusal.InvalidFormatVersion, "the format version must be above 0")
	}
	return nil
}

func (c *SetFormatVersion) apply(b *Broker) (Result, *Error) {
	if c.Version < b.formatVersion {
		return nil, refusal.New(refusal.InvalidFormatVersion, "The format version never goes down: it is ",
			strconv.FormatUint(uint64(b.formatVersion), 10), ".")
	}
	b.changeRules(c.Version)
	return Done{}, nil
}
