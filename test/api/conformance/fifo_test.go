package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// load sends messages named group-message in order, in batches.
func (c *client) load(t *testing.T, queue string, bodies ...string) {
	t.Helper()
	for len(bodies) > 0 {
		n := min(len(bodies), 10)
		var entries []types.SendMessageBatchRequestEntry
		for i, body := range bodies[:n] {
			entries = append(entries, entry(fmt.Sprint(i), body, group(body[:2]), dedup(body)))
		}
		if out := c.sendBatch(t, queue, entries...); len(out.Failed) != 0 {
			t.Fatalf("failed: %v", out.Failed)
		}
		bodies = bodies[n:]
	}
}

func TestFIFORedeliveryKeepsOrder(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"VisibilityTimeout": "1"})
		c.load(t, queue, "g1-m1", "g1-m2", "g1-m3")
		c.expect(t, queue, "g1-m1", "g1-m2", "g1-m3")
		c.expect(t, queue, "g1-m1", "g1-m2", "g1-m3")
	})
}

func TestFIFOOneAtATime(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		want := []string{"g1-m1", "g1-m2", "g1-m3", "g1-m4"}
		c.load(t, queue, want...)
		var got []string
		for range want {
			m := c.one(t, queue)
			got = append(got, *m.Body)
			c.delete(t, queue, m)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestFIFOFillsByGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g2-m1", "g1-m2", "g1-m3")
		c.expect(t, queue, "g1-m1", "g1-m2", "g1-m3", "g2-m1")
	})
}

func TestFIFOOtherGroupsContinue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2", "g1-m3", "g2-m1")
		if diff := cmp.Diff([]string{"g1-m1", "g1-m2"}, bodies(c.receive(t, queue, atMost(2)))); diff != "" {
			t.Fatalf("received (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"g2-m1"}, bodies(c.receive(t, queue, atMost(1)))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
		c.empty(t, queue)
	})
}

func TestFIFOBlockedGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2")
		c.expect(t, queue, "g1-m1", "g1-m2")
		c.empty(t, queue)
		// A new message does not unblock the group.
		c.load(t, queue, "g1-m3")
		c.empty(t, queue)
	})
}

func TestFIFOEmptiedGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1")
		c.delete(t, queue, c.one(t, queue))
		c.empty(t, queue)
		c.load(t, queue, "g1-m2")
		c.expect(t, queue, "g1-m2")
	})
}

// TestFIFODeleteReleasesGroup checks that after the delete of the last message in flight a waiting
// receive gets the other messages.
func TestFIFODeleteReleasesGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2")
		m := c.one(t, queue)
		got := make(chan []string, 1) // one answer, never blocks its sender
		start := time.Now()
		go func() {
			defer close(got)
			got <- bodies(c.receive(t, queue, wait(20)))
		}()
		c.pass(t, 1)
		c.delete(t, queue, m)
		if diff := cmp.Diff([]string{"g1-m2"}, <-got); diff != "" && before(t, start, 20*time.Second) {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestFIFOCounters(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2", "g2-m1", "g2-m2", "g3-m1", "g3-m2")
		first := c.receive(t, queue, atMost(1))
		c.hide(t, queue, first[0], 600)
		second := c.receive(t, queue, atMost(1))
		if got := bodies(append(first, second...)); cmp.Diff([]string{"g1-m1", "g2-m1"}, got) != "" {
			t.Errorf("received %q", got)
		}
		c.counts(t, queue, 4, 2, 0)
		for _, m := range append(first, second...) {
			c.hide(t, queue, m, 0)
		}
		c.counts(t, queue, 6, 0, 0)
	})
}

func TestFIFOCounterAfterDeletes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2", "g1-m3", "g1-m4", "g1-m5")
		c.delete(t, queue, c.receive(t, queue, atMost(4))...)
		c.counts(t, queue, 1, 0, 0)
	})
}

// TestFIFOPrefixRule checks that messages before a message in flight are delivered, and none after
// it.
func TestFIFOPrefixRule(t *testing.T) {
	cases := []struct {
		name  string
		kept  int // which of the three stays hidden
		after []string
	}{
		{"first hidden", 0, nil},
		{"second hidden", 1, []string{"g1-m1"}},
		{"third hidden", 2, []string{"g1-m1", "g1-m2"}},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := c.fifo(t, nil)
				c.load(t, queue, "g1-m1", "g1-m2", "g1-m3")
				for i, m := range c.expect(t, queue, "g1-m1", "g1-m2", "g1-m3") {
					if i != test.kept {
						c.hide(t, queue, m, 0)
					}
				}
				if diff := cmp.Diff(append([]string{}, test.after...), bodies(c.receive(t, queue, atMost(10)))); diff != "" {
					t.Errorf("received (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func TestFIFODeletedHeadDoesNotReleaseOthers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2", "g1-m3")
		taken := c.receive(t, queue, atMost(2))
		c.delete(t, queue, taken[0])
		c.empty(t, queue)
		c.delete(t, queue, taken[1])
		c.expect(t, queue, "g1-m3")
	})
}

// TestFIFOGroupOrder checks that groups are served in the order in which their first messages
// became available.
func TestFIFOGroupOrder(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("received with timeout zero", func(t *testing.T) {
			queue := c.fifo(t, nil)
			c.load(t, queue, "g1-m1", "g2-m1", "g2-m2", "g3-m1", "g1-m2")
			if diff := cmp.Diff([]string{"g1-m1", "g1-m2", "g2-m1"}, bodies(c.receive(t, queue, atMost(3), hidden(0)))); diff != "" {
				t.Errorf("first (-want +got):\n%s", diff)
			}
			c.expect(t, queue, "g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2")
		})
		t.Run("after deletes", func(t *testing.T) {
			queue := c.fifo(t, nil)
			c.load(t, queue, "g1-m1", "g2-m1", "g1-m2", "g2-m2", "g1-m3", "g1-m4", "g3-m1")
			c.delete(t, queue, c.receive(t, queue, atMost(2))...)
			c.expect(t, queue, "g2-m1", "g2-m2", "g1-m3", "g1-m4", "g3-m1")
		})
		t.Run("visibility set to zero", func(t *testing.T) {
			queue := c.fifo(t, nil)
			c.load(t, queue, "g1-m1", "g1-m2", "g2-m1")
			c.hide(t, queue, c.receive(t, queue, atMost(2))[0], 0)
			c.expect(t, queue, "g2-m1", "g1-m1")
		})
	})
}
