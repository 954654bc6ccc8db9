package bubble

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// tryTimeout ends a call, whose outcome is then unknown. A node gives up earlier.
const (
	requestTimeout = time.Second
	tryTimeout     = 2 * time.Second
)

// client makes calls and records them. Used by one goroutine.
type client struct {
	run      *run
	number   int
	workload string
	random   *rand.Rand
	counter  int
}

func (r *run) newClient(number int, workload string) *client {
	return &client{run: r, number: number, workload: workload, random: rand.New(rand.NewPCG(r.seed, uint64(1000+number)))}
}

// body returns a unique body that contains its own checksum.
func (c *client) body() string {
	c.counter++
	size := c.random.IntN(200)
	if c.random.IntN(10) == 0 {
		size = c.random.IntN(4000)
	}
	text := fmt.Sprintf("%d-%d-%s", c.number, c.counter, strings.Repeat("x", size))
	return fmt.Sprintf("%s-%08x", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

func (c *client) attempt() string {
	c.counter++
	return fmt.Sprintf("a-%d-%d", c.number, c.counter)
}

func (c *client) queue() string { return c.workload + ".fifo" }

// call makes one call through a machine, classifies and records it. It records nothing if the
// machine is down. done reports whether the call succeeded.
func (c *client) call(m *machine, e *history.Event, do func(context.Context, *cluster.Node) (cluster.Reply, error)) (result queue.Result,
	done bool) {
	node, p := m.present()
	if node == nil {
		return nil, false
	}
	e.Kind, e.ID, e.Client, e.Workload, e.Node = history.KindOp, c.run.nextOp(), c.number, c.workload, nameOf(m.number)
	e.Call = c.run.now()
	ctx, cancel := context.WithTimeout(c.run.ctx, tryTimeout)
	stop := make(chan struct{})
	go func() { // ends with the call
		select {
		case <-p.gone:
			cancel()
		case <-stop:
		}
	}()
	reply, err := do(ctx, node)
	close(stop)
	cancel()
	e.Return = c.run.now()
	e.Index, e.LogTime = reply.Index, int64(reply.LogTime)
	var refusal *queue.Error
	switch {
	case p.dead():
		// The node has died, so its answer, if any, was never sent.
		e.Result, e.Error, reply.Result, e.Index, e.LogTime = history.Unknown, "the node died", nil, 0, 0
	case err == nil:
		e.Result = history.OK
	case errors.As(err, &refusal):
		e.Result, e.Error = history.OK, refusal.Error()
	case errors.Is(err, cluster.ErrOutcomeUnknown), ctx.Err() != nil:
		e.Result, e.Error = history.Unknown, err.Error()
	case errors.Is(err, cluster.ErrUnavailable), errors.Is(err, cluster.ErrNotLeader), errors.Is(err, cluster.ErrOverloaded):
		e.Result, e.Error = history.Fail, err.Error()
	default:
		e.Result, e.Error = history.Unknown, err.Error()
		c.run.wrong("a %s failed in a way that clients are not told of: %v", e.Action, err)
	}
	return reply.Result, e.Result == history.OK && err == nil
}

func (c *client) any() *machine { return c.run.machines[c.random.IntN(len(c.run.machines))] }

// running returns a machine whose node runs, or nil.
func (c *client) running() *machine {
	first := c.random.IntN(len(c.run.machines))
	for i := range c.run.machines {
		m := c.run.machines[(first+i)%len(c.run.machines)]
		if node, p := m.present(); node != nil && !p.dead() {
			return m
		}
	}
	return c.run.machines[first]
}

func (c *client) create(m *machine, name string) bool {
	attributes := []queue.Attribute{{Name: "FifoQueue", Value: "true"}}
	for key, value := range map[string]int64{
		"DeduplicationWindowSeconds": window, "ReceiveAttemptWindowSeconds": attemptWindow, "VisibilityTimeout": visibility,
	} {
		attributes = append(attributes, queue.Attribute{Name: key, Value: fmt.Sprint(value)})
	}
	e := history.Event{Action: history.CreateQueue, Queue: name}
	_, done := c.call(m, &e, func(ctx context.Context, n *cluster.Node) (cluster.Reply, error) {
		return n.Submit(ctx, &queue.CreateQueue{Queue: name, Attributes: attributes})
	})
	return done
}

func (c *client) send(m *machine, name, group, dedup, body string) bool {
	e := history.Event{Action: history.Send, Queue: name, Group: group, Dedup: dedup, Body: body}
	result, _ := c.call(m, &e, func(ctx context.Context, n *cluster.Node) (cluster.Reply, error) {
		return n.Submit(ctx, &queue.SendMessages{Queue: name, Entries: []queue.SendEntry{{
			Body: body, GroupID: group, GroupIDGiven: true, DeduplicationID: dedup, DeduplicationIDGiven: true,
		}}})
	})
	if sent, is := result.(queue.MessagesSent); is {
		entry := sent.Entries[0]
		if e.Message, e.Sequence = entry.MessageID.String(), entry.Sequence.String(); entry.Err != nil {
			e.Error, e.Message, e.Sequence = entry.Err.Error(), "", ""
		}
	}
	c.run.record(e)
	return e.Result == history.OK
}

func (c *client) receive(m *machine, name string, most int, attempt string, lose bool) ([]history.Message, history.Result) {
	e := history.Event{Action: history.Receive, Queue: name, Attempt: attempt}
	e.Most = most
	wait := time.Duration(c.random.IntN(2)) * 300 * time.Millisecond
	result, _ := c.call(m, &e, func(ctx context.Context, n *cluster.Node) (cluster.Reply, error) {
		return n.Receive(ctx, &queue.ReceiveMessages{
			Queue: name, MaxMessages: queue.Some(int64(most)), AttemptID: attempt, AttemptIDGiven: attempt != "",
		}, wait)
	})
	if got, is := result.(queue.MessagesReceived); is && !lose {
		for _, m := range got.Messages {
			e.Messages = append(e.Messages, history.Message{
				ID: m.MessageID.String(), Body: m.Body.String(), Group: m.GroupID, Dedup: m.DeduplicationID,
				Sequence: m.Sequence.String(), Handle: m.Handle.String(), Count: int(m.ReceiveCount), Sent: int64(m.SentAt),
			})
		}
	}
	if lose && e.Result == history.OK && e.Error == "" {
		e.Result, e.Error = history.Unknown, "the answer was lost"
	}
	c.run.record(e)
	return e.Messages, e.Result
}

func (c *client) remove(m *machine, name, handle, message string) bool {
	e := history.Event{Action: history.Delete, Queue: name, Handle: handle, Message: message}
	result, _ := c.call(m, &e, func(ctx context.Context, n *cluster.Node) (cluster.Reply, error) {
		return n.Submit(ctx, &queue.DeleteMessages{Queue: name, Handles: []string{handle}})
	})
	if done, is := result.(queue.EntriesDone); is && done.Errs[0] != nil {
		e.Error = done.Errs[0].Error()
	}
	c.run.record(e)
	return e.Result == history.OK
}

// The windows of all queues in seconds, short enough to pass several times.
const (
	window        = 3
	attemptWindow = 20
	visibility    = 5
)

// persist repeats a send with the same key until it is answered, at most for a while.
func (c *client) persist(group, dedup, body string) {
	for range 10 {
		if c.send(c.any(), c.queue(), group, dedup, body) || !c.think() {
			return
		}
	}
}

// consume receives with an attempt id, repeats the call on any node until it is answered, and
// deletes the messages.
func (c *client) consume(most int) {
	attempt := c.attempt()
	for range 4 {
		messages, result := c.receive(c.any(), c.queue(), most, attempt, false)
		if result == history.OK {
			for _, m := range messages {
				c.remove(c.any(), c.queue(), m.Handle, m.ID)
			}
			return
		}
		if !c.think() {
			return
		}
	}
}

// keyOf is the deduplication id of a body: client and counter.
func keyOf(body string) string {
	parts := strings.SplitN(body, "-", 3)
	return parts[0] + "-" + parts[1]
}

// ledger sends unique messages, receives, and deletes.
func (c *client) ledger() {
	body := c.body()
	c.persist(fmt.Sprint(c.random.IntN(4)), keyOf(body), body)
	c.consume(2)
}

// dupStorm sends a few keys from many clients. Each try has its own body.
func (c *client) dupStorm() {
	key := fmt.Sprintf("key-%d", c.random.IntN(8))
	c.persist(key, key, c.body())
	if c.random.IntN(3) == 0 {
		c.consume(10)
	}
}

// relay sends into one group only after the send before was answered.
func (c *client) relay() {
	for range 2 {
		body := c.body()
		c.persist("relay", keyOf(body), body)
	}
	c.consume(2)
	c.consume(1)
}

// lostReceive discards answers and repeats the call on another node. Some consumers stop while they
// hold messages.
func (c *client) lostReceive() {
	body := c.body()
	c.persist(fmt.Sprint(c.random.IntN(5)), keyOf(body), body)
	attempt := c.attempt()
	messages, result := c.receive(c.any(), c.queue(), 3, attempt, c.random.IntN(2) == 0)
	for try := 0; result != history.OK && try < 5 && c.think(); try++ {
		messages, result = c.receive(c.any(), c.queue(), 3, attempt, false)
	}
	if c.random.IntN(4) == 0 {
		return
	}
	for _, m := range messages {
		handle := m.Handle
		if c.random.IntN(8) == 0 {
			handle = handle[:len(handle)-1] + string("0123456789abcdef"[c.random.IntN(16)])
		}
		c.remove(c.any(), c.queue(), handle, m.ID)
	}
}

var workloads = [...]struct {
	name    string
	clients int
	step    func(*client)
}{
	{"ledger", 2, (*client).ledger},
	{"dup-storm", 2, (*client).dupStorm},
	{"relay", 1, (*client).relay},
	{"lost-receive", 2, (*client).lostReceive},
}

// think waits for a random time and reports whether the load goes on.
func (c *client) think() bool {
	return c.run.pauseLoad(time.Duration(c.random.Int64N(int64(300 * time.Millisecond))))
}
