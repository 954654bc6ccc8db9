package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// TestTwins applies one random log to replicas in different ways. Answers, hashes and snapshot
// bytes must be equal:
//
//   - plain: an entry at a time
//   - restored: its state replaced by its own snapshot at random points
//   - batched: random numbers of entries at once
//   - late: starts from a snapshot in the middle, then the rest of the log
func TestTwins(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 20_261_128))
			source := newCommands(random, seen)
			plain, restored, batched := founded(t, Options{}), founded(t, Options{}), founded(t, Options{})
			for _, name := range []string{"dead", "dead.fifo", "plain", "a.fifo", "b.fifo"} {
				log := plain.entry(start, source.create(name))
				plain.fsm.Apply(log)
				restored.fsm.Apply(log)
				batched.fsm.Apply(log)
			}
			source.view = plain.fsm.View
			if source.topics = seed%2 == 1; source.topics {
				log := plain.entry(start, source.createTopics()...)
				plain.fsm.Apply(log)
				restored.fsm.Apply(log)
				batched.fsm.Apply(log)
			}
			var late *replica
			var pending []*raft.Log
			var want []any
			for i := range 600 {
				log := plain.entry(source.now, source.some()...)
				result := plain.fsm.Apply(log).(EntryResult)
				source.learn(result)
				if diff := cmp.Diff(result, restored.fsm.Apply(log), fsmtest.SameBody); diff != "" {
					t.Fatalf("entry %d (-plain +restored):\n%s", log.Index, diff)
				}
				if late != nil {
					if diff := cmp.Diff(result, late.fsm.Apply(log), fsmtest.SameBody); diff != "" {
						t.Fatalf("entry %d (-plain +late):\n%s", log.Index, diff)
					}
				}
				if random.IntN(40) == 0 {
					restored.restore(restored.snapshot())
				}
				if i == 300 {
					late = newReplica(t, Options{})
					late.restore(plain.snapshot())
				}
				pending, want = append(pending, log), append(want, result)
				if random.IntN(8) == 0 {
					if diff := cmp.Diff(want, batched.fsm.ApplyBatch(pending), fsmtest.SameBody); diff != "" {
						t.Fatalf("up to entry %d (-plain +batched):\n%s", log.Index, diff)
					}
					pending, want = nil, nil
				}
				if restored.fsm.Position() != plain.fsm.Position() {
					t.Fatalf("entry %d: %+v, restored %+v", log.Index, plain.fsm.Position(), restored.fsm.Position())
				}
			}
			batched.fsm.ApplyBatch(pending)
			plain.sound()
			data := plain.snapshot()
			for name, twin := range map[string]*replica{"restored": restored, "batched": batched, "late": late} {
				if !bytes.Equal(data, twin.snapshot()) {
					t.Errorf("the %s replica gives other snapshot bytes", name)
				}
			}
		})
	}
	t.Log(seen)
	for _, outcome := range append(accountOutcomes, []string{
		"duplicate", "replayed", "received", "dead-lettered", "done", "moved", "refused", "published", "published again", "subscribed",
		"replayed from an archive", "left to be replayed", "unscheduled", "asked to confirm", "confirmed", "posted", "to be posted again",
		"locked", "received in a session", "received and deleted", "deferred", "fetched", "dead-lettered for a reason", "released",
		"found scheduled in a topic", "unscheduled in a topic", "committed",
	}...) {
		if seen[outcome] == 0 {
			t.Errorf("nothing was %s: the logs do not show what twins could differ in", outcome)
		}
	}
}

// commands generates random commands with times near deadlines.
type commands struct {
	random   *rand.Rand
	now      queue.Timestamp
	last     []queue.Command // generated, answers pending
	handles  []delivered
	waiting  []queue.SequenceNumber // perhaps scheduled or deferred
	tasks    []string
	locks    []lock
	deferred []numbered             // perhaps deferred
	receive  *queue.ReceiveMessages // newest, to be retried
	seen     map[string]int         // outcomes

	operator      *rand.Rand // of commands about stored messages
	access        accessCommands
	accounts      *accountCommands
	ofAccounts    int  // index in last where commands of accounts begin
	topics        bool // generate commands of topics
	subscriptions []string
	view          func() queue.View // of a replica that applied all generated commands
}

// delivered is a handle and its queue.
type delivered struct {
	queue, handle string
	sequence      queue.SequenceNumber
}

func newCommands(random *rand.Rand, seen map[string]int) *commands {
	return &commands{random: random, now: start, seen: seen, access: newAccessCommands(), accounts: newAccountCommands(seen),
		operator: rand.New(rand.NewPCG(5, 5))}
}

func (c *commands) one(list ...string) string { return list[c.random.IntN(len(list))] }

func (c *commands) queue() string { return c.one("a.fifo", "b.fifo", "dead.fifo", "plain", "dead") }

// some generates one to three commands of one entry and advances time.
func (c *commands) some() []queue.Command {
	steps := []logtime.Duration{0, 0, 0, 1, 1, 249, 499, 999, logtime.Second, 2 * logtime.Second}
	c.now = c.now.Add(steps[c.random.IntN(len(steps))])
	c.last = nil
	for range 1 + c.random.IntN(3) {
		c.last = append(c.last, c.command())
	}
	if c.access.random.IntN(30) == 0 {
		c.last = append(c.last, c.access.command())
	}
	if c.operator.IntN(12) == 0 {
		c.last = append(c.last, c.stored())
	}
	c.ofAccounts = len(c.last)
	if c.accounts.random.IntN(2) == 0 {
		c.last = append(c.last, c.accounts.command(c.topics))
	}
	return c.last
}

// learn records handles and tasks for later commands and counts outcomes.
func (c *commands) learn(result EntryResult) {
	for i, response := range result.Responses {
		if i >= c.ofAccounts {
			c.accounts.learn(c.last[i], response)
			continue
		}
		switch r := response.Result.(type) {
		case queue.MessagesSent:
			for _, e := range r.Entries {
				c.count("duplicate", e.Duplicate)
				if e.Sequence != 0 {
					c.waiting = append(c.waiting, e.Sequence)
				}
			}
		case queue.MessagesReceived:
			c.count("replayed", r.Replayed)
			for _, m := range r.Messages {
				c.handles = append(c.handles, delivered{c.last[i].QueueName(), m.Handle.String(), m.Sequence})
				c.count("received", true)
				if _, fetched := c.last[i].(*queue.ReceiveDeferred); fetched {
					c.count("fetched", true)
				} else if receive := c.last[i].(*queue.ReceiveMessages); receive.Options != nil {
					c.count("received in a session", receive.Options.Session.Token != "")
					c.count("received and deleted", receive.Options.Delete)
				}
				c.count("dead-lettered", m.DeadLetterSource != "")
			}
		case queue.EntriesDone:
			for _, err := range r.Errs {
				c.count("done", err == nil)
				switch cmd := c.last[i].(type) {
				case *queue.CancelScheduled:
					c.count("unscheduled", err == nil && cmd.Topic == "")
					c.count("unscheduled in a topic", err == nil && cmd.Topic != "")
				case *queue.DeadLetter:
					c.count("dead-lettered for a reason", err == nil)
				case *queue.Defer:
					c.count("deferred", err == nil)
					for _, d := range c.handles {
						if err == nil && d.handle == cmd.Handles[0] {
							c.deferred = append(c.deferred, numbered{d.queue, d.sequence})
						}
					}
				}
			}
		case queue.Published:
			for _, e := range r.Entries {
				c.count("published again", e.Duplicate)
				c.count("found scheduled in a topic", e.FirstIsScheduled)
				c.count("published", !e.Duplicate)
			}
		case queue.Subscribed:
			if _, confirmed := c.last[i].(*queue.ConfirmSubscription); confirmed {
				c.count("confirmed", true)
				break
			}
			c.subscriptions = append(c.subscriptions, r.SubscriptionARN)
			c.count("subscribed", true)
			c.count("asked to confirm", r.Pending)
		case queue.MessagesReplayed:
			c.count("replayed from an archive", r.Looked > 0)
			c.count("left to be replayed", r.Running)
		case queue.StoredMoved:
			for _, e := range r.Entries {
				c.count("moved by an operator", e.Err == nil)
			}
		case queue.TransactionCommitted:
			c.count("committed", true)
		case queue.GroupReleased:
			c.count("released", r.Messages > 0)
		case queue.SessionLocked:
			if r.SessionID != "" {
				c.locks = append(c.locks, lock{c.last[i].QueueName(), queue.SessionRef{SessionID: r.SessionID, Token: r.Token.String()}})
			}
			c.count("locked", r.SessionID != "")
		case queue.MoveTaskStarted:
			c.tasks = append(c.tasks, r.TaskID)
		case queue.MessagesMoved:
			c.count("moved", r.Moved > 0)
		}
		c.count("refused", response.Err != nil)
	}
	c.handles = c.handles[max(0, len(c.handles)-30):]
	c.waiting = c.waiting[max(0, len(c.waiting)-30):]
}

func (c *commands) count(outcome string, happened bool) {
	if happened {
		c.seen[outcome]++
	}
}

// delivery picks a recent handle, or rarely an invalid one.
func (c *commands) delivery() delivered {
	if len(c.handles) == 0 || c.random.IntN(20) == 0 {
		return delivered{queue: c.queue(), handle: "not a handle"}
	}
	return c.handles[c.random.IntN(len(c.handles))]
}

func (c *commands) task() string {
	if len(c.tasks) == 0 {
		return "no task"
	}
	return c.tasks[len(c.tasks)-1-c.random.IntN(min(2, len(c.tasks)))]
}

func (c *commands) command() queue.Command {
	switch n := c.random.IntN(130); {
	case n < 15 && c.topics:
		return c.topicCommand()
	case n < 35:
		return c.send()
	case n < 60:
		cmd := &queue.ReceiveMessages{Queue: c.queue(), MaxMessages: queue.Some(int64(1 + c.random.IntN(10)))}
		if c.random.IntN(2) == 0 {
			cmd.AttemptID, cmd.AttemptIDGiven = fmt.Sprint(c.random.IntN(25)), true
		}
		if c.random.IntN(2) == 0 {
			cmd.VisibilityTimeout = queue.Some(int64(c.random.IntN(5)))
		}
		if c.receive != nil && c.random.IntN(3) == 0 {
			return c.receive
		}
		c.receive = cmd
		return cmd
	case n < 75:
		d := c.delivery()
		return &queue.DeleteMessages{Queue: d.queue, Batch: true, Handles: []string{d.handle, c.delivery().handle}}
	case n < 80:
		d := c.delivery()
		return &queue.ChangeMessageVisibility{Queue: d.queue, Entries: []queue.VisibilityEntry{
			{Handle: d.handle, VisibilityTimeout: queue.Some(int64(c.random.IntN(4)))},
		}}
	case n < 84:
		return &queue.AdvanceClock{}
	case n < 88:
		return &queue.StartMoveTask{Source: c.one("dead", "dead.fifo")}
	case n < 94:
		return &queue.MoveMessages{TaskID: c.task(), Max: 1 + c.random.IntN(5)}
	case n < 97:
		return c.administration()
	default:
		return c.serviceBus()
	}
}

func (c *commands) send() queue.Command {
	cmd := &queue.SendMessages{Queue: c.one("a.fifo", "b.fifo", "plain"), SenderID: "AIDAEXAMPLE"}
	fifo := strings.HasSuffix(cmd.Queue, ".fifo")
	for range 1 + c.random.IntN(3) {
		entry := queue.SendEntry{Body: c.one("x", "y", "z")}
		if fifo {
			entry.GroupID, entry.GroupIDGiven = c.one("g", "h", "i"), true
			entry.DeduplicationID, entry.DeduplicationIDGiven = fmt.Sprint(c.random.IntN(30)), true
		}
		if c.random.IntN(8) == 0 {
			entry.Attributes = []queue.MessageAttribute{{
				Name: "seriatim.ScheduledEnqueueTime", DataType: "Number",
				Value: fmt.Sprint(int64(c.now) + c.random.Int64N(20_000)),
			}}
		}
		cmd.Entries, cmd.Batch = append(cmd.Entries, entry), true
	}
	return cmd
}

func (c *commands) administration() queue.Command {
	switch c.random.IntN(20) {
	case 0:
		return &queue.DeleteQueue{Queue: c.queue()}
	case 1:
		return &queue.PurgeQueue{Queue: c.queue()}
	case 2:
		return &queue.SetQueueAttributes{Queue: c.one("a.fifo", "b.fifo"), Attributes: []queue.Attribute{
			{Name: "DeduplicationScope", Value: c.one("queue", "messageGroup")},
			{Name: "DeduplicationWindowSeconds", Value: c.one("20", "30", "300")},
		}}
	case 3:
		return &queue.SetQueueTags{Queue: c.queue(), Set: []queue.Tag{{Key: "k", Value: c.one("v", "w")}}}
	case 4:
		return &queue.CancelMoveTask{TaskID: c.task(), Source: c.one("dead", "dead.fifo")}
	}
	return c.create(c.queue())
}

// create creates a queue with or without a dead-letter queue.
func (c *commands) create(name string) queue.Command {
	cmd := &queue.CreateQueue{Queue: name}
	if strings.HasSuffix(name, ".fifo") {
		cmd.Attributes = []queue.Attribute{{Name: "DeduplicationWindowSeconds", Value: "20"}, {Name: "FifoQueue", Value: "true"}}
	}
	target := map[string]string{"a.fifo": "dead.fifo", "b.fifo": "dead.fifo", "plain": "dead"}[name]
	if target != "" && c.random.IntN(4) > 0 {
		cmd.Attributes = append(cmd.Attributes, queue.Attribute{
			Name:  "RedrivePolicy",
			Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + target + `","maxReceiveCount":2}`,
		})
	}
	if cmd.Attributes != nil {
		cmd.Attributes = append(cmd.Attributes, queue.Attribute{Name: "ReservedAttributesEnabled", Value: "true"})
	}
	return cmd
}
