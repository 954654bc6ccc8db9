package faults

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// countTime bounds looking at all counters.
const countTime = 30 * time.Second

// countAll reads the counters of queues through every node while no client works. test/oracle/check
// judges them, and test/oracle/logcheck does so exactly.
func (s *testbed) countAll(ctx context.Context, queues []string) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, n := range s.cluster.Nodes {
		for _, queue := range queues {
			// If no answer comes in time, nothing is recorded, and a minimum count of the run
			// misses it.
			for !s.probe.count(ctx, n, queue) {
				if !pause(ctx, 50*time.Millisecond) {
					break
				}
			}
		}
	}
}

// count reads the counters of a queue once.
func (c *client) count(ctx context.Context, node *harness.Node, queue string) bool {
	e := history.Event{Action: history.Counts, Queue: queue}
	out, sent := c.do(ctx, node, "GetQueueAttributes", map[string]any{
		"QueueUrl": c.url(queue), "AttributeNames": []string{history.Visible, history.NotVisible, history.Delayed},
	}, &e)
	if !sent {
		return false
	}
	e.Attributes = out.Attributes
	c.recorder.Add(e)
	return e.Result == history.OK
}
