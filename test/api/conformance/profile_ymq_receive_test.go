package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

func TestYMQOneMessagePerGroup(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"one group", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			var all []string
			for i := range 10 {
				all = append(all, fmt.Sprint("g1-", i))
			}
			c.load(t, queue, all...)
			c.expect(t, queue, "g1-0")
		}},
		{"ten groups", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			var all []string
			for m := range 5 {
				for g := range 10 {
					all = append(all, fmt.Sprintf("%02d-%d", g, m))
				}
			}
			c.load(t, queue, all...)
			c.expect(t, queue, all[:10]...)
		}},
		{"locked group", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0", "g1-1")
			c.expect(t, queue, "g1-0")
			c.empty(t, queue)
			c.load(t, queue, "g2-0")
			c.expect(t, queue, "g2-0")
		}},
		{"head deleted", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0", "g1-1")
			c.delete(t, queue, c.expect(t, queue, "g1-0")...)
			c.expect(t, queue, "g1-1")
		}},
		{"no attempt id", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 15)
			first, second := bodies(c.receive(t, queue, atMost(10))), bodies(c.receive(t, queue, atMost(10)))
			if got := slices.Concat(first, second); len(first) != 10 || !slices.Equal(got, all) {
				t.Errorf("received %q, then %q", first, second)
			}
		}},
	})
}

func TestYMQAttempts(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"id not ASCII", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.heads(t, queue, 1)
			_, got := c.tryReceive(t, queue, attempt("попытка"))
			refused(t, got, "InvalidParameterValue", "")
			c.counts(t, queue, 1, 0, 0)
		}},
		{"same set", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 15)
			first, again := bodies(c.receive(t, queue, atMost(10), attempt("A"))), bodies(c.receive(t, queue, atMost(10), attempt("A")))
			if diff := cmp.Diff(first, again); diff != "" || !slices.Equal(first, all[:10]) {
				t.Errorf("received %q, again (-first +again):\n%s", first, diff)
			}
		}},
		{"another attempt", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 15)
			c.receive(t, queue, atMost(10), attempt("A"))
			if diff := cmp.Diff(all[10:], bodies(c.receive(t, queue, atMost(10), attempt("B")))); diff != "" {
				t.Errorf("another attempt (-want +got):\n%s", diff)
			}
		}},
		{"same handles", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.heads(t, queue, 3)
			first := c.receive(t, queue, atMost(10), attempt("A"), everything)
			again := c.receive(t, queue, atMost(10), attempt("A"), everything)
			// The receive count belongs to the delivery, and is unchanged.
			if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" || len(first) != 3 {
				t.Fatalf("%d messages (-first +again):\n%s", len(first), diff)
			}
			c.delete(t, queue, first[:2]...)
			c.delete(t, queue, again[2])
			c.counts(t, queue, 0, 0, 0)
		}},
		{"visibility changed", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 15)
			first := c.receive(t, queue, atMost(10), attempt("A"), hidden(600))
			c.hide(t, queue, first[3], 600)
			if diff := cmp.Diff(all[10:], bodies(c.receive(t, queue, atMost(10), attempt("A")))); diff != "" {
				t.Errorf("received under the same id (-want +got):\n%s", diff)
			}
		}},
		{"message deleted", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0", "g2-0", "g1-1")
			first := c.receive(t, queue, atMost(10), attempt("A"), hidden(600))
			c.delete(t, queue, first[0])
			// After the delete this is an ordinary receive, which registers the id anew, without
			// g2.
			for range 2 {
				if diff := cmp.Diff([]string{"g1-1"}, bodies(c.receive(t, queue, atMost(10), attempt("A"), hidden(600)))); diff != "" {
					t.Errorf("received under the same id (-want +got):\n%s", diff)
				}
			}
		}},
		{"renews visibility", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 1)
			start := time.Now()
			c.receive(t, queue, attempt("A"), hidden(4))
			middle := time.Now()
			c.receive(t, queue, attempt("A"), hidden(8))
			if !before(t, start, 4*time.Second) {
				return
			}
			c.pass(t, 5)
			got := c.receive(t, queue)
			if !before(t, middle, 8*time.Second) {
				return
			}
			if len(got) != 0 {
				t.Errorf("received %q before the end of the second timeout", bodies(got))
			}
			c.expect(t, queue, all...)
		}},
		{"after the visibility timeout", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 2)
			first := c.receive(t, queue, atMost(10), attempt("A"), hidden(1), everything)
			c.pass(t, 2)
			again := c.receive(t, queue, atMost(10), attempt("A"), hidden(600), everything)
			if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" || !slices.Equal(bodies(first), all) {
				t.Errorf("received %q, again (-first +again):\n%s", bodies(first), diff)
			}
		}},
		{"one message taken by another", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 2)
			c.receive(t, queue, atMost(10), attempt("A"), hidden(1))
			c.pass(t, 2)
			if taken := bodies(c.receive(t, queue, atMost(1), attempt("B"), hidden(600))); !slices.Equal(taken, all[:1]) {
				t.Fatalf("B took %q", taken)
			}
			if diff := cmp.Diff(all[1:], bodies(c.receive(t, queue, atMost(10), attempt("A")))); diff != "" {
				t.Errorf("what is left of A (-want +got):\n%s", diff)
			}
		}},
		{"maximum of a repetition", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			all := c.heads(t, queue, 5)
			c.receive(t, queue, atMost(5), attempt("A"))
			if diff := cmp.Diff(all[:2], bodies(c.receive(t, queue, atMost(2), attempt("A")))); diff != "" {
				t.Errorf("at most two (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(all, bodies(c.receive(t, queue, atMost(10), attempt("A")))); diff != "" {
				t.Errorf("at most ten (-want +got):\n%s", diff)
			}
		}},
		{"an empty answer is not kept", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.empty(t, queue, attempt("A"))
			all := c.heads(t, queue, 1)
			if diff := cmp.Diff(all, bodies(c.receive(t, queue, attempt("A"), wait(20)))); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
		}},
	})
}

func TestYMQStaleHandles(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"expired", func(t *testing.T, c *client) {
			queue, plain := c.ymq(t, nil), c.fifo(t, nil)
			c.heads(t, queue, 1)
			c.heads(t, plain, 1)
			m, other := c.one(t, queue, hidden(1)), c.one(t, plain, hidden(1))
			c.pass(t, 2)
			c.delete(t, queue, m)
			c.counts(t, queue, 0, 0, 0)
			handle := aws.ToString(other.ReceiptHandle)
			refused(t, c.tryDelete(t, plain, handle), "InvalidParameterValue", expiredHandle(handle))
			c.counts(t, plain, 1, 0, 0)
		}},
		{"superseded", func(t *testing.T, c *client) {
			queue, plain := c.ymq(t, nil), c.fifo(t, nil)
			c.heads(t, queue, 1)
			c.heads(t, plain, 1)
			old, other := c.one(t, queue, hidden(1)), c.one(t, plain, hidden(1))
			newer := c.one(t, queue, hidden(600))
			c.one(t, plain, hidden(600))
			c.delete(t, queue, old)
			c.counts(t, queue, 0, 1, 0)
			c.delete(t, queue, newer)
			c.counts(t, queue, 0, 0, 0)
			handle := aws.ToString(other.ReceiptHandle)
			refused(t, c.tryDelete(t, plain, handle), "InvalidParameterValue", expiredHandle(handle))
			c.counts(t, plain, 0, 1, 0)
		}},
		{"visibility of an expired one", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.heads(t, queue, 1)
			m := c.one(t, queue, hidden(1))
			c.pass(t, 2)
			if got := c.tryHide(t, queue, aws.ToString(m.ReceiptHandle), 600); got == nil {
				t.Error("accepted")
			}
			c.counts(t, queue, 1, 0, 0)
		}},
		{"visibility of a superseded one", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.heads(t, queue, 1)
			old := c.one(t, queue, hidden(1))
			c.one(t, queue, hidden(600))
			if got := c.tryHide(t, queue, aws.ToString(old.ReceiptHandle), 1); got == nil {
				t.Error("accepted")
			}
			c.counts(t, queue, 0, 1, 0)
		}},
	})
}

func TestYMQDeadLetter(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"fourth attempt", func(t *testing.T, c *client) {
			target := c.ymq(t, nil)
			source := c.ymq(t, attrs{"RedrivePolicy": redrive(target, 3), "VisibilityTimeout": "0"})
			sent := c.send(t, source, "m", group("g"), dedup("X"))
			for range 3 {
				c.one(t, source)
			}
			c.counts(t, target, 0, 0, 0)
			c.empty(t, source)
			moved := c.one(t, target)
			if aws.ToString(moved.MessageId) != aws.ToString(sent.MessageId) {
				t.Errorf("message %s is there, want %s", aws.ToString(moved.MessageId), aws.ToString(sent.MessageId))
			}
		}},
		{"id, count and histories", func(t *testing.T, c *client) {
			target := c.ymq(t, nil)
			source := c.ymq(t, attrs{"RedrivePolicy": redrive(target, 1), "VisibilityTimeout": "0"})
			// The target remembers the id, but still accepts the moved message.
			c.send(t, target, "of the target", group("t"), dedup("X"))
			first := c.send(t, source, "m", group("g"), dedup("X"))
			c.one(t, source)
			c.empty(t, source)
			var moved []string
			for _, m := range c.receive(t, target, atMost(10), wait(20), everything) {
				moved = append(moved, aws.ToString(m.Body)+" "+m.Attributes["MessageDeduplicationId"]+" "+
					m.Attributes["ApproximateReceiveCount"])
			}
			if diff := cmp.Diff([]string{"of the target X 1", "m X 2"}, moved); diff != "" {
				t.Errorf("in the target (-want +got):\n%s", diff)
			}
			sameMessage(t, first, c.send(t, source, "m", group("g"), dedup("X")))
		}},
		{"standard target", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			refused(t, c.trySet(t, queue, attrs{"RedrivePolicy": redrive(c.std(t, nil), 3)}), "InvalidParameterValue", "")
			if got := c.attributes(t, queue, "RedrivePolicy"); len(got) != 0 {
				t.Errorf("kept: %v", got)
			}
		}},
		{"count 1001", func(t *testing.T, c *client) {
			queue, target := c.ymq(t, nil), c.ymq(t, nil)
			refused(t, c.trySet(t, queue, attrs{"RedrivePolicy": redrive(target, 1001)}), "InvalidParameterValue", "")
			if got := c.attributes(t, queue, "RedrivePolicy"); len(got) != 0 {
				t.Errorf("kept: %v", got)
			}
			c.set(t, queue, attrs{"RedrivePolicy": redrive(target, 1000)})
		}},
	})
}

func TestYMQAttributeRefusals(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"FifoQueue", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			refused(t, c.trySet(t, queue, attrs{"FifoQueue": "false"}), "InvalidAttributeValue", "")
			if got := c.attributes(t, queue, "FifoQueue")["FifoQueue"]; got != "true" {
				t.Errorf("FifoQueue is %q", got)
			}
		}},
		{"unknown name", func(t *testing.T, c *client) {
			refused(t, c.trySet(t, c.ymq(t, nil), attrs{"Foo": "1"}), "InvalidAttributeName", "Unknown Attribute Foo.")
			_, got := c.tryCreate(t, unique(t)+".fifo", attrs{"FifoQueue": "true", "CompatibilityProfile": "ymq", "Foo": "1"})
			refused(t, got, "InvalidAttributeName", "Unknown Attribute Foo.")
		}},
	})
}
