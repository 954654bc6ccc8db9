package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// deliveries are message ids with receipt handles, in order.
func deliveries(messages []types.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, aws.ToString(m.MessageId)+" "+aws.ToString(m.ReceiptHandle)+" "+m.Attributes["ApproximateReceiveCount"])
	}
	return out
}

func notRetryable(id string) string {
	return "Value " + id + " for parameter ReceiveRequestAttemptId is invalid. Reason: The " +
		"receiveRequestAttemptId is not valid anymore since the receive call is not retryable."
}

func TestReceiveAttemptReplay(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g1-m2", "g2-m1", "g3-m1")
		first := c.receive(t, queue, atMost(3), attempt("A"), system("All"))
		// A smaller maximum does not shorten the answer, and no new messages are added.
		for _, n := range []int32{10, 1} {
			again := c.receive(t, queue, atMost(n), attempt("A"), system("All"))
			if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" {
				t.Errorf("replay with max %d (-first +again):\n%s", n, diff)
			}
		}
		// The handles work.
		c.delete(t, queue, first...)
		c.expect(t, queue, "g3-m1")
	})
}

func TestReceiveAttemptOtherID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1", "g2-m1")
		c.receive(t, queue, atMost(1), attempt("A"))
		if diff := cmp.Diff([]string{"g2-m1"}, bodies(c.receive(t, queue, atMost(10), attempt("B")))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
		c.empty(t, queue, attempt("C"))
		c.empty(t, queue)
	})
}

// TestReceiveAttemptEmptyIsNotKept checks that an empty answer is not remembered, so that the same
// id may return messages later.
func TestReceiveAttemptEmptyIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.empty(t, queue, attempt("A"))
		c.load(t, queue, "g1-m1")
		if diff := cmp.Diff([]string{"g1-m1"}, bodies(c.receive(t, queue, attempt("A")))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestReceiveAttemptNotRetryable(t *testing.T) {
	cases := []struct {
		name  string
		after func(t *testing.T, c *client, queue string, taken []types.Message)
	}{
		{"message deleted", func(t *testing.T, c *client, queue string, taken []types.Message) { c.delete(t, queue, taken[0]) }},
		{"visibility changed", func(t *testing.T, c *client, queue string, taken []types.Message) { c.hide(t, queue, taken[1], 500) }},
		{"visibility ran out", func(t *testing.T, c *client, _ string, _ []types.Message) { c.pass(t, 6) }},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := c.fifo(t, attrs{"VisibilityTimeout": "30"})
				c.load(t, queue, "g1-m1", "g1-m2")
				options := []receiving{atMost(2), attempt("A")}
				if test.name == "visibility ran out" {
					options = append(options, hidden(4))
				}
				taken := c.receive(t, queue, options...)
				if len(taken) != 2 {
					t.Fatalf("received %q", bodies(taken))
				}
				test.after(t, c, queue, taken)
				_, got := c.tryReceive(t, queue, attempt("A"))
				refused(t, got, "InvalidParameterValue", notRetryable("A"))
			})
		}
	})
}

func TestReceiveAttemptWindowEnds(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"ReceiveAttemptWindowSeconds": "2"})
		c.load(t, queue, "g1-m1", "g2-m1")
		first := c.receive(t, queue, attempt("A"), hidden(600))
		c.pass(t, 3)
		second := c.receive(t, queue, attempt("A"), hidden(600))
		if diff := cmp.Diff([]string{"g1-m1", "g2-m1"}, bodies(append(first, second...))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestReceiveAttemptRenewsVisibility(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1")
		start := time.Now()
		c.receive(t, queue, attempt("A"), hidden(4))
		replayed, got := c.tryReceive(t, queue, attempt("A"), hidden(600))
		if got != nil {
			if before(t, start, 4*time.Second) {
				t.Fatalf("refused: %v", got)
			}
			return
		}
		c.pass(t, 6)
		c.empty(t, queue)
		c.delete(t, queue, replayed...)
	})
}

func TestReceiveAttemptWithTimeoutZero(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.load(t, queue, "g1-m1")
		c.receive(t, queue, attempt("A"), hidden(0))
		again := c.receive(t, queue, attempt("A"), system("All"))
		if len(again) != 1 || again[0].Attributes["ApproximateReceiveCount"] != "2" {
			t.Errorf("received %v, want an ordinary second delivery", deliveries(again))
		}
	})
}

func TestReceiveAttemptBadID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		for _, bad := range []string{strings.Repeat("a", 129), "a b", "é", ""} {
			_, got := c.tryReceive(t, queue, attempt(bad))
			refused(t, got, "InvalidParameterValue", badID("ReceiveRequestAttemptId", bad))
		}
		c.receive(t, queue, attempt(strings.Repeat("a", 128)))
	})
}

// TestReceiveAttemptOnEveryNode repeats one id at each node in turn.
func TestReceiveAttemptOnEveryNode(t *testing.T) {
	t.Parallel()
	c := newClient(shared.cluster, protocolJSON)
	queue := c.fifo(t, nil)
	for i := range 5 {
		c.load(t, queue, fmt.Sprintf("g%d-m1", i))
	}
	first := c.receive(t, queue, atMost(5), attempt("A"), system("All"))
	for range 2 * len(shared.cluster.Nodes) {
		again := c.receive(t, queue, atMost(5), attempt("A"), system("All"))
		if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" {
			t.Errorf("replay (-first +again):\n%s", diff)
		}
	}
}
