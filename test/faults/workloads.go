package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// workload is an action that a client repeats until the load ends.
type workload struct {
	name    string
	clients int
	step    func(*client, context.Context)
}

// workloads lists the workloads. Each has a queue with its name. The window of dup-long is the
// product's default of 300 s, and all others are short.
var workloads = [...]workload{
	{"ledger", 2, (*client).ledger},
	{"dup-storm", 3, (*client).dupStorm},
	{"relay", 1, (*client).relay},
	{"groups", 2, (*client).groups},
	{"lost-receive", 2, (*client).lostReceive},
	{"handles", 1, (*client).handles},
	{"resurrect", 1, (*client).resurrect},
	{"dup-edge", 1, (*client).dupEdge},
	{"dup-long", 1, (*client).dupStorm},
	{"visibility", 1, (*client).visibility},
	{"batch", 1, (*client).batches},
	{"admin", 1, (*client).admin},
	{"replay", 1, (*client).replay},
	{"stock", 3, (*client).stockStep},
	{fanOut, 2, (*client).fanOut}, // its own queue stays empty: it uses fanOutQueues
	{"sessions", 3, (*client).sessions},
	{"schedules", 2, (*client).schedules},
}

// bulk is only for night runs, since a slow line takes minutes for it.
var bulk = workload{"bulk", 1, (*client).bulk}

// workloads are those of the run's profile.
func (r Run) workloads() []workload {
	if r.Profile == Night {
		return append(workloads[:], bulk)
	}
	return workloads[:]
}

// deadLetters lists the queues with a dead-letter queue, whose name ends with -dlq, and their
// maxReceiveCount.
var deadLetters = map[string]int{"visibility": 2}

// named is the queue of a workload in this part of the run.
func (c *client) named(workload string) string { return workload + c.suffix + ".fifo" }

// queue is that of the client's own workload.
func (c *client) queue() string { return c.named(c.workload) }

// attempt is a new attempt id.
func (c *client) attempt() string {
	c.counter++
	return fmt.Sprintf("a-%d-%d", c.number, c.counter)
}

// persist repeats a send with the same key until it is answered, at most for a while.
func (c *client) persist(ctx context.Context, group, dedup, body string) {
	for range 20 {
		if c.send(ctx, c.any(), c.queue(), group, dedup, body) || !c.think(ctx) {
			return
		}
	}
}

// consume receives with an attempt id, repeats the call on any node until it is answered, and
// deletes the messages.
func (c *client) consume(ctx context.Context, most int) { c.consumeFrom(ctx, c.queue(), most) }

func (c *client) consumeFrom(ctx context.Context, queue string, most int) {
	attempt := c.attempt()
	for range 5 {
		messages, result := c.receive(ctx, c.any(), queue, wanted{most: most, attempt: attempt})
		if result == history.OK {
			for _, m := range messages {
				c.remove(ctx, c.any(), queue, m.Handle, m.ID)
			}
			return
		}
		if !c.think(ctx) {
			return
		}
	}
}

// ledger sends unique messages, receives, and deletes.
func (c *client) ledger(ctx context.Context) {
	body := c.body()
	c.persist(ctx, fmt.Sprint(c.random.IntN(5)), keyOf(body), body)
	c.consume(ctx, 2)
}

// dupStorm sends 20 keys from many clients concurrently, so that there are open windows during
// every fault. Each try has its own body.
func (c *client) dupStorm(ctx context.Context) {
	key := fmt.Sprintf("key-%d", c.random.IntN(20))
	c.persist(ctx, key, key, c.body())
	if c.random.IntN(4) == 0 {
		c.consume(ctx, 10)
	}
}

// relay sends into a group only after the send before was answered.
func (c *client) relay(ctx context.Context) {
	for range 3 {
		body := c.body()
		c.persist(ctx, "relay", keyOf(body), body)
	}
	c.consume(ctx, 2)
	c.consume(ctx, 2)
}

// groups uses many groups, and consumers that stop while they hold messages.
func (c *client) groups(ctx context.Context) {
	body := c.body()
	c.persist(ctx, fmt.Sprint(c.random.IntN(200)), keyOf(body), body)
	if c.random.IntN(5) == 0 {
		c.receive(ctx, c.any(), c.queue(), wanted{most: 1 + c.random.IntN(10)})
		return
	}
	c.consume(ctx, 1+c.random.IntN(10))
}

// lostReceive discards the answer of every third receive and repeats the call with its attempt id
// on another node. It keeps some of the messages in flight and repeats the call again and again, so
// that leadership moves between two calls.
func (c *client) lostReceive(ctx context.Context) {
	body := c.body()
	c.persist(ctx, fmt.Sprint(c.random.IntN(10)), keyOf(body), body)
	attempt := c.attempt()
	node := c.random.IntN(len(c.nodes))
	messages, result := c.receive(ctx, c.nodes[node], c.queue(), wanted{most: 3, attempt: attempt, drop: c.random.IntN(3) == 0})
	for try := 1; result != history.OK && try <= 5 && c.think(ctx); try++ {
		messages, result = c.receive(ctx, c.nodes[(node+try)%len(c.nodes)], c.queue(), wanted{most: 3, attempt: attempt})
	}
	repeats := c.random.IntN(2)
	if c.random.IntN(8) == 0 {
		repeats = 8
	}
	for i := 0; i < repeats && len(messages) > 0 && (i == 0 || pause(ctx, 200*time.Millisecond)); i++ {
		c.receive(ctx, c.nodes[(node+1+i)%len(c.nodes)], c.queue(), wanted{most: 3, attempt: attempt})
	}
	for _, m := range messages {
		c.remove(ctx, c.any(), c.queue(), m.Handle, m.ID)
	}
}

// handles deletes with handles that are altered, truncated, of another message, or stale.
func (c *client) handles(ctx context.Context) {
	body := c.body()
	c.persist(ctx, "handles", keyOf(body), body)
	messages, _ := c.receive(ctx, c.any(), c.queue(), wanted{most: 1})
	if len(messages) == 0 {
		pause(ctx, 200*time.Millisecond)
		return
	}
	m := messages[0]
	flipped := []byte(m.Handle)
	flipped[c.random.IntN(len(flipped))] ^= 1
	c.remove(ctx, c.any(), c.queue(), string(flipped), m.ID)
	c.remove(ctx, c.any(), c.queue(), m.Handle[:len(m.Handle)/2], m.ID)
	c.remove(ctx, c.any(), c.named("ledger"), m.Handle, m.ID)
	if c.random.IntN(10) > 0 {
		c.remove(ctx, c.any(), c.queue(), m.Handle, m.ID)
		return
	}
	// Let the message time out, receive it again, and delete it with the old handle.
	for range 40 {
		if !pause(ctx, 200*time.Millisecond) {
			return
		}
		again, _ := c.receive(ctx, c.any(), c.queue(), wanted{most: 1})
		if len(again) > 0 {
			c.remove(ctx, c.any(), c.queue(), m.Handle, m.ID)
			return
		}
	}
}

// resurrect deletes at once and checks that the messages do not return. Meanwhile the schedule
// restarts nodes and makes them install snapshots.
func (c *client) resurrect(ctx context.Context) {
	body := c.body()
	c.persist(ctx, "resurrect", keyOf(body), body)
	c.consume(ctx, 10)
	c.receive(ctx, c.any(), c.queue(), wanted{most: 1})
}
