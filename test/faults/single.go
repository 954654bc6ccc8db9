package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// generationCalls is the number of calls to one queue of the workload single, after which a new
// queue is used.
const generationCalls = 300

// generations contains the queues of the workload single, of which one is current. Safe for
// concurrent use.
type generations struct {
	mu   sync.Mutex
	made int
	now  *generation
}

// generation is one queue with one group.
type generation struct {
	queue string
	ready chan struct{} // closed when the queue exists, or never will
	calls int
}

// turn assigns a call to the current generation. first reports that the caller must create its
// queue.
func (g *generations) turn(suffix string) (x *generation, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now == nil || g.now.calls >= generationCalls {
		g.made++
		g.now = &generation{queue: fmt.Sprintf("generation%s-%d.fifo", suffix, g.made), ready: make(chan struct{})}
		first = true
	}
	g.now.calls++
	return g.now, first
}

// hand is the state of a client of the workload single in the current generation.
type hand struct {
	generation *generation
	messages   []history.Message // the last received messages
	attempt    string            // of a receive without an answer
}

// handMax keeps handles until they are stale, but not forever.
const handMax = 6

// single mixes all actions on one queue with one group. Each visibility timeout certainly ends
// within the generation, or certainly does not.
func (c *client) single(ctx context.Context) {
	x, first := c.singles.turn(c.suffix)
	if first {
		// If no node creates it, the run ends.
		_ = c.create(ctx, x.queue, attributesOf(c.rules, x.queue))
		close(x.ready)
	}
	select {
	case <-x.ready:
	case <-ctx.Done():
		return
	}
	if c.hand.generation != x {
		c.hand = hand{generation: x}
	}
	if !c.play(ctx, x) {
		pause(ctx, 200*time.Millisecond)
	}
}

// play makes one call, and reports whether it was answered.
func (c *client) play(ctx context.Context, x *generation) bool {
	h := &c.hand
	switch n := c.random.IntN(100); {
	case h.attempt != "" && n < 70:
		return c.take(ctx, x, h.attempt)
	case n < 40:
		body := c.body()
		key := keyOf(body)
		if c.random.IntN(3) == 0 {
			key = fmt.Sprintf("again-%d", c.random.IntN(5))
		}
		return c.send(ctx, c.any(), x.queue, "g", key, body)
	case n < 75 || len(h.messages) == 0:
		attempt := ""
		if c.random.IntN(2) == 0 {
			attempt = c.attempt()
		}
		return c.take(ctx, x, attempt)
	case n < 93:
		i := len(h.messages) - 1 - c.random.IntN(min(len(h.messages), 3))
		m := h.messages[i]
		if c.random.IntN(4) > 0 {
			h.messages = slices.Delete(h.messages, i, i+1)
		}
		return c.remove(ctx, c.any(), x.queue, m.Handle, m.ID)
	case n < 99:
		m := h.messages[c.random.IntN(len(h.messages))]
		return c.hide(ctx, c.any(), x.queue, m.Handle, m.ID, c.random.Int64N(3)*1e6)
	}
	return c.record(ctx, c.any(), "PurgeQueue", map[string]any{"QueueUrl": c.url(x.queue)},
		history.Event{Action: history.Purge, Queue: x.queue})
}

// take receives, and remembers the messages and whether the receive must be repeated.
func (c *client) take(ctx context.Context, x *generation, attempt string) bool {
	timeout := []int64{1e6, 1e6, 1e6, 2e6, 2e6, 3600e6}[c.random.IntN(6)]
	messages, result := c.receive(ctx, c.any(), x.queue, wanted{most: 1 + c.random.IntN(3), attempt: attempt, timeout: &timeout})
	c.hand.attempt = ""
	if result == history.Unknown {
		c.hand.attempt = attempt
	}
	for _, m := range messages {
		if !slices.ContainsFunc(c.hand.messages, func(o history.Message) bool { return o.Handle == m.Handle }) {
			c.hand.messages = append(c.hand.messages, m)
		}
	}
	c.hand.messages = slices.Delete(c.hand.messages, 0, max(0, len(c.hand.messages)-handMax))
	return result == history.OK
}
