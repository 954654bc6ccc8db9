package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// dupEdge sends a key again around the end of its window, within 50 ms. Log time decides whether it
// is a duplicate.
func (c *client) dupEdge(ctx context.Context) {
	body := c.body()
	key := keyOf(body)
	c.persist(ctx, key, key, body)
	edge := time.Duration(c.rules.WindowOf(c.queue())) * time.Microsecond
	for range 3 {
		if !pause(ctx, edge-50*time.Millisecond+time.Duration(c.random.IntN(100))*time.Millisecond) {
			return
		}
		c.persist(ctx, key, key, c.body())
	}
	c.consume(ctx, 10)
}

// visibility receives with visibility timeouts of 0, 1 and 2 s, changes the timeouts of messages in
// flight, and lets messages go to the dead-letter queue.
func (c *client) visibility(ctx context.Context) {
	body := c.body()
	c.persist(ctx, fmt.Sprint(c.random.IntN(10)), keyOf(body), body)
	w := wanted{most: 3}
	if t := int64(c.random.IntN(4)); t < 3 {
		t *= 1e6
		w.timeout = &t
	}
	messages, _ := c.receive(ctx, c.any(), c.queue(), w)
	for _, m := range messages {
		switch c.random.IntN(4) {
		case 0:
			c.remove(ctx, c.any(), c.queue(), m.Handle, m.ID)
		case 1:
			c.hide(ctx, c.any(), c.queue(), m.Handle, m.ID, int64(c.random.IntN(3))*1e6)
		case 2:
			// Hide the message for hours, and make sure that it is visible again before the drain.
			if !c.hide(ctx, c.any(), c.queue(), m.Handle, m.ID, 12*3600*1e6) {
				continue
			}
			for range 20 {
				if c.hide(ctx, c.any(), c.queue(), m.Handle, m.ID, int64(c.random.IntN(2))*1e6) || !c.think(ctx) {
					break
				}
			}
		}
	}
}

// batches sends, deletes, and changes visibility in batches that contain duplicates and entries
// that are refused.
func (c *client) batches(ctx context.Context) {
	var entries []history.Entry
	for i := range 10 {
		body := c.bodyOf(c.random.IntN(200))
		c.counter++
		entry := history.Entry{Group: fmt.Sprint(c.random.IntN(4)), Dedup: keyOf(body), Body: body}
		if i == 9 {
			entry.Dedup = entries[0].Dedup // dropped as a duplicate of the first
			entry.Group = entries[0].Group
		}
		if i == 5 && c.random.IntN(3) == 0 {
			entry.Group = "" // refused, while the other entries are accepted
		}
		entries = append(entries, entry)
	}
	for range 10 {
		e := c.batch(ctx, c.any(), c.queue(), history.SendBatch, cloneEntries(entries))
		if e.Result == history.OK || !c.think(ctx) {
			break
		}
	}
	attempt := c.attempt()
	for range 5 {
		messages, result := c.receive(ctx, c.any(), c.queue(), wanted{most: 10, attempt: attempt})
		if result != history.OK {
			c.think(ctx)
			continue
		}
		c.deleteBatch(ctx, messages)
		return
	}
}

// deleteBatch deletes a batch of messages, after it has changed the visibility of some.
func (c *client) deleteBatch(ctx context.Context, messages []history.Message) {
	if len(messages) == 0 {
		return
	}
	var entries []history.Entry
	for _, m := range messages {
		entries = append(entries, history.Entry{Handle: m.Handle, Message: m.ID})
	}
	if c.random.IntN(4) == 0 {
		hidden := cloneEntries(entries)
		for i := range hidden {
			timeout := int64(c.random.IntN(3)) * 1e6
			hidden[i].Timeout = &timeout
		}
		c.batch(ctx, c.any(), c.queue(), history.VisibilityBatch, hidden)
	}
	c.batch(ctx, c.any(), c.queue(), history.DeleteBatch, entries)
}

// cloneEntries gives a try entries of its own, to be filled in.
func cloneEntries(entries []history.Entry) []history.Entry {
	return append([]history.Entry(nil), entries...)
}

// admin creates, changes, purges, and deletes a queue, and creates it again. Old messages must not
// return, and sequence numbers must continue.
func (c *client) admin(ctx context.Context) {
	c.counter++
	queue := fmt.Sprintf("admin%s-%d-%d.fifo", c.suffix, c.number, c.counter)
	attributes := attributesOf(c.rules, queue)
	if c.create(ctx, queue, attributes) != nil {
		return
	}
	c.repeat(ctx, "SetQueueAttributes",
		map[string]any{"QueueUrl": c.url(queue), "Attributes": map[string]string{"DelaySeconds": "0", "MessageRetentionPeriod": "3600"}},
		history.Event{Action: history.SetAttributes, Queue: queue})
	c.repeat(ctx, "TagQueue", map[string]any{"QueueUrl": c.url(queue), "Tags": map[string]string{"of": c.workload}},
		history.Event{Action: history.Tag, Queue: queue})
	c.sendSome(ctx, queue, 3)
	c.receive(ctx, c.any(), queue, wanted{most: 1})
	if c.random.IntN(2) == 0 {
		c.repeat(ctx, "PurgeQueue", map[string]any{"QueueUrl": c.url(queue)}, history.Event{Action: history.Purge, Queue: queue})
	} else {
		// A delete without an answer may still be executed, and would delete the new queue.
		if tries := c.repeat(ctx, "DeleteQueue", map[string]any{"QueueUrl": c.url(queue)},
			history.Event{Action: history.DeleteQueue, Queue: queue}); tries > 1 {
			return
		}
		if c.create(ctx, queue, attributes) != nil {
			return
		}
	}
	c.sendSome(ctx, queue, 2)
	c.receive(ctx, c.any(), queue, wanted{most: 10})
	c.repeat(ctx, "DeleteQueue", map[string]any{"QueueUrl": c.url(queue)}, history.Event{Action: history.DeleteQueue, Queue: queue})
}

func (c *client) sendSome(ctx context.Context, queue string, n int) {
	for range n {
		body := c.body()
		for range 10 {
			if c.send(ctx, c.any(), queue, "a", keyOf(body), body) || !c.think(ctx) {
				break
			}
		}
	}
}

// repeat makes a call that may be repeated until it succeeds, and returns the number of tries.
func (c *client) repeat(ctx context.Context, action string, in map[string]any, e history.Event) (tries int) {
	for tries = 1; tries <= 10; tries++ {
		if c.record(ctx, c.any(), action, in, e) || !c.think(ctx) {
			break
		}
	}
	return tries
}

// replay sends recorded requests again, unchanged, to any node.
func (c *client) replay(ctx context.Context) {
	body := c.body()
	in := sendInput("replay", keyOf(body), body)
	in["QueueUrl"] = c.url(c.queue())
	payload, err := json.Marshal(in)
	if err != nil {
		panic(err) // a map of strings always has a JSON form
	}
	for range 2 + c.random.IntN(3) {
		e := sendEvent(c.queue(), "replay", keyOf(body), body)
		if out, sent := c.post(ctx, c.any(), "SendMessage", payload, &e); sent {
			c.sent(e, out)
		}
		if !c.think(ctx) {
			return
		}
	}
	c.consume(ctx, 3)
}

// bulkMost is the largest text of a body whose message has at most 1 MiB: attributesFor
// adds up to 57 bytes, and bodyOf numbers and a checksum.
const bulkMost = 1<<20 - 256

// bulk sends bodies of up to 1 MiB, a few at a time.
func (c *client) bulk(ctx context.Context) {
	c.counter++
	sizes := []int{1, 64 << 10, 256 << 10, bulkMost}
	body := c.bodyOf(sizes[c.random.IntN(len(sizes))])
	c.persist(ctx, "bulk", keyOf(body), body)
	c.consume(ctx, 10)
	pause(ctx, 2*time.Second)
}
