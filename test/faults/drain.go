package faults

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// tickEvery is the interval at which a drain writes an entry that changes no message. Log time
// is the time of the newest entry, so it stands still without writes.
const tickEvery = 500_000 // microseconds

// drain empties the queue. It records the queue as empty after it was empty for longer than any
// message can be in flight, in true time and in log time. After a clock ran fast, log time is
// slower than true time.
func (c *client) drain(ctx context.Context, queue string) {
	empty, emptyAt, ticked := c.recorder.Now(), c.logTime, int64(0)
	for ctx.Err() == nil {
		messages, result := c.receive(ctx, c.any(), queue, wanted{most: 10})
		for _, m := range messages {
			c.remove(ctx, c.any(), queue, m.Handle, m.ID)
		}
		now := c.recorder.Now()
		// A receive with an unknown outcome may hide messages. A failed one does not tell whether
		// the queue is empty.
		if len(messages) > 0 || result == history.Unknown {
			empty, emptyAt = now, c.logTime
			continue
		}
		if result == history.Fail {
			pause(ctx, 10*time.Millisecond)
			continue
		}
		if emptyAt == 0 {
			emptyAt = c.logTime
		}
		if now-empty > c.rules.Visibility+2e6 && (c.logTime-emptyAt)*1000 > c.rules.Visibility {
			c.recorder.Add(history.Event{Kind: history.KindDrained, Queue: queue, Call: empty, Return: now})
			return
		}
		if now-ticked >= tickEvery {
			// The result does not matter: another call follows.
			c.record(ctx, c.any(), "TagQueue", map[string]any{"QueueUrl": c.url(queue), "Tags": map[string]string{"drained": "soon"}},
				history.Event{Action: history.Tag, Queue: queue})
			ticked = now
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// deadLetters are the dead-letter queues of queues that have one.
func (s *testbed) deadLetters(queues []string) []string {
	var dead []string
	for _, queue := range queues {
		if _, found := s.rules.DeadLetter[queue]; found {
			dead = append(dead, history.DeadLetterOf(queue))
		}
	}
	return dead
}

// drainAll drains the queues, each with a client of its own. A dead-letter queue is drained after
// its source queue, because the drain of the source moves messages into it.
func (s *testbed) drainAll(ctx context.Context, queues []string) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	later := s.deadLetters(queues)
	var draining sync.WaitGroup
	for i, queue := range queues {
		if slices.Contains(later, queue) {
			continue
		}
		c := s.newClient(800+i, "drain")
		draining.Go(func() {
			defer c.close()
			c.drain(ctx, queue)
			if _, dead := s.rules.DeadLetter[queue]; dead {
				c.drain(ctx, history.DeadLetterOf(queue))
			}
		})
	}
	draining.Wait()
}
