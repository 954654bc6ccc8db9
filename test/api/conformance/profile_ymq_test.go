package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// ymq creates a FIFO queue with the profile of Yandex Message Queue.
func (c *client) ymq(t *testing.T, attributes attrs) string {
	t.Helper()
	all := attrs{"CompatibilityProfile": "ymq"}
	maps.Copy(all, attributes)
	return c.fifo(t, all)
}

func TestYMQDeduplication(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("no id", func(t *testing.T) {
			queue := c.ymq(t, nil)
			_, got := c.trySend(t, queue, "m", group("g"))
			refused(t, got, "InvalidParameterValue", noDeduplicationText)
			c.counts(t, queue, 0, 0, 0)
		})
		t.Run("same id", func(t *testing.T) {
			queue := c.ymq(t, nil)
			first := c.send(t, queue, "first", group("1"), dedup("X"))
			again := c.send(t, queue, "test", group("1"), dedup("X"))
			sameMessage(t, first, again)
			if digest := aws.ToString(again.MD5OfMessageBody); digest != "098f6bcd4621d373cade4e832627b4f6" {
				t.Errorf("digest %q is not that of the second body", digest)
			}
			sameMessage(t, first, c.send(t, queue, "m", group("2"), dedup("X")))
			c.counts(t, queue, 1, 0, 0)
			m := c.one(t, queue)
			if *m.Body != "first" {
				t.Errorf("received %q", *m.Body)
			}
			c.delete(t, queue, m)
			sameMessage(t, first, c.send(t, queue, "m", group("1"), dedup("X")))
			c.counts(t, queue, 0, 0, 0)
		})
		t.Run("content", func(t *testing.T) {
			queue := c.ymq(t, contentBased)
			first := c.send(t, queue, fooBar, group("1"))
			sameMessage(t, first, c.send(t, queue, fooBar, group("2"), text("k", "String", "x")))
			anotherMessage(t, first, c.send(t, queue, "C", group("2")))
			anotherMessage(t, first, c.send(t, queue, fooBar, group("3"), dedup("X")))
			ids := map[string]string{}
			for _, m := range c.receive(t, queue, atMost(10), everything) {
				ids[m.Attributes["MessageGroupId"]] = m.Attributes["MessageDeduplicationId"]
			}
			if ids["1"] != fooBarHash || ids["3"] != "X" || len(ids) != 3 {
				t.Errorf("deduplication ids by group: %v", ids)
			}
		})
		t.Run("window", func(t *testing.T) {
			queue := c.ymq(t, attrs{"DeduplicationWindowSeconds": "4"})
			start := time.Now()
			first := c.send(t, queue, "m", group("g"), dedup("X"))
			second := c.send(t, queue, "m", group("g"), dedup("X"))
			if before(t, start, 4*time.Second) {
				sameMessage(t, first, second)
			}
			c.eventually(t, "the window ends", func() bool {
				second = c.send(t, queue, "m", group("g"), dedup("X"))
				return *second.MessageId != *first.MessageId
			})
			c.counts(t, queue, 2, 0, 0)
		})
		t.Run("purge keeps history", func(t *testing.T) {
			queue := c.ymq(t, nil)
			first := c.send(t, queue, "m", group("g"), dedup("X"))
			c.purge(t, queue)
			sameMessage(t, first, c.send(t, queue, "m", group("g"), dedup("X")))
			c.empty(t, queue)
		})
	})
}

func TestYMQRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.ymq(t, nil)
		_, got := c.trySend(t, queue, "m", dedup("X"))
		refused(t, got, "MissingParameter", "")
		for _, bad := range []string{"идентификатор", strings.Repeat("a", 129)} {
			_, got = c.trySend(t, queue, "m", group("g"), dedup(bad))
			refused(t, got, "InvalidParameterValue", "")
		}
		c.send(t, queue, "m", group("g"), dedup(strings.Repeat("a", 128)))
		_, got = c.tryReceive(t, queue, attempt("попытка"))
		refused(t, got, "InvalidParameterValue", "")
		refused(t, c.trySet(t, queue, attrs{"RedrivePolicy": redrive(c.std(t, nil), 3)}), "InvalidParameterValue", "")
		refused(t, c.trySet(t, queue, attrs{"RedrivePolicy": redrive(c.fifo(t, nil), 1001)}), "InvalidParameterValue", "")
		refused(t, c.trySet(t, queue, attrs{"FifoQueue": "false"}), "InvalidAttributeValue", "")
		refused(t, c.trySet(t, queue, attrs{"Foo": "1"}), "InvalidAttributeName", "Unknown Attribute Foo.")
	})
}

func TestYMQOneMessagePerGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("one group", func(t *testing.T) {
			queue := c.ymq(t, nil)
			var bodies []string
			for i := range 10 {
				bodies = append(bodies, fmt.Sprint("g1-", i))
			}
			c.load(t, queue, bodies...)
			taken := c.expect(t, queue, "g1-0")
			// The group is locked; deleting its head gives the next.
			c.empty(t, queue)
			c.load(t, queue, "g2-0")
			c.expect(t, queue, "g2-0")
			c.delete(t, queue, taken...)
			c.expect(t, queue, "g1-1")
		})
		t.Run("ten groups", func(t *testing.T) {
			queue := c.ymq(t, nil)
			var all, heads []string
			for m := range 5 {
				for g := range 10 {
					all = append(all, fmt.Sprintf("%02d-%d", g, m))
				}
			}
			c.load(t, queue, all...)
			heads = append(heads, all[:10]...)
			c.expect(t, queue, heads...)
		})
		t.Run("no attempt id", func(t *testing.T) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0", "g2-0", "g1-1")
			c.expect(t, queue, "g1-0", "g2-0")
			c.empty(t, queue)
		})
	})
}

func TestYMQAttempts(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		fifteen := func(t *testing.T) string {
			queue := c.ymq(t, nil)
			var all []string
			for g := range 15 {
				all = append(all, fmt.Sprintf("%02d-0", g))
			}
			c.load(t, queue, all...)
			return queue
		}
		t.Run("replay", func(t *testing.T) {
			queue := fifteen(t)
			first := c.receive(t, queue, atMost(10), attempt("A"), everything)
			again := c.receive(t, queue, atMost(10), attempt("A"), everything)
			if diff := cmp.Diff(deliveries(first), deliveries(again)); diff != "" || len(first) != 10 {
				t.Errorf("replay of %d (-first +again):\n%s", len(first), diff)
			}
			other := c.receive(t, queue, atMost(10), attempt("B"))
			if diff := cmp.Diff([]string{"10-0", "11-0", "12-0", "13-0", "14-0"}, bodies(other)); diff != "" {
				t.Errorf("another attempt (-want +got):\n%s", diff)
			}
			c.delete(t, queue, first...)
			c.counts(t, queue, 0, 5, 0)
		})
		t.Run("visibility changed", func(t *testing.T) {
			queue := fifteen(t)
			first := c.receive(t, queue, atMost(10), attempt("A"))
			c.hide(t, queue, first[3], 600)
			taken := map[string]bool{}
			for _, m := range first {
				taken[*m.Body] = true
			}
			for _, m := range c.receive(t, queue, atMost(10), attempt("A")) {
				if taken[*m.Body] {
					t.Errorf("%q was given out while it is locked", *m.Body)
				}
			}
		})
		t.Run("renews visibility", func(t *testing.T) {
			queue := fifteen(t)
			start := time.Now()
			first := c.receive(t, queue, atMost(10), attempt("A"), hidden(5))
			c.receive(t, queue, atMost(10), attempt("A"), hidden(600))
			if !before(t, start, 5*time.Second) {
				return
			}
			c.receive(t, queue, atMost(10), hidden(600))
			c.pass(t, 6)
			c.empty(t, queue)
			c.delete(t, queue, first...)
		})
		t.Run("after visibility ran out", func(t *testing.T) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0")
			first := c.receive(t, queue, attempt("A"), hidden(1))
			c.pass(t, 2)
			again := c.receive(t, queue, attempt("A"), hidden(600))
			if diff := cmp.Diff(bodies(first), bodies(again)); diff != "" {
				t.Errorf("replay (-first +again):\n%s", diff)
			}
		})
	})
}

func TestYMQStaleHandles(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("expired", func(t *testing.T) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0")
			m := c.one(t, queue, hidden(1))
			c.pass(t, 2)
			c.delete(t, queue, m)
			c.counts(t, queue, 0, 0, 0)
		})
		t.Run("superseded", func(t *testing.T) {
			queue := c.ymq(t, nil)
			c.load(t, queue, "g1-0")
			old := c.one(t, queue, hidden(1))
			newer := c.one(t, queue, hidden(600))
			c.delete(t, queue, old)
			c.counts(t, queue, 0, 1, 0)
			c.delete(t, queue, newer)
			c.counts(t, queue, 0, 0, 0)
		})
	})
}

func TestYMQDeadLetter(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.ymq(t, nil)
		source := c.ymq(t, attrs{"RedrivePolicy": redrive(target, 3), "VisibilityTimeout": "0"})
		sent := c.send(t, source, "m", group("g"), dedup("X"))
		for range 3 {
			c.one(t, source)
		}
		c.empty(t, source)
		moved := c.one(t, target, everything)
		if *moved.MessageId != *sent.MessageId || moved.Attributes["MessageDeduplicationId"] != "X" {
			t.Errorf("moved message %+v", moved)
		}
	})
}

func TestYMQBatches(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.ymq(t, nil)
		out := c.sendBatch(t, queue, entry("a", "1", group("g"), dedup("X")), entry("b", "2", group("g"), dedup("X")))
		if len(out.Successful) != 2 || *out.Successful[0].MessageId != *out.Successful[1].MessageId {
			t.Errorf("succeeded: %v", out.Successful)
		}
		c.counts(t, queue, 1, 0, 0)
		_, got := c.trySendBatch(t, queue, entry("a", "1", group("g"), dedup("Y")), entry("b", "2", group("g")))
		refused(t, got, "InvalidParameterValue", noDeduplicationText)
		c.counts(t, queue, 1, 0, 0)
	})
}

func TestYMQSequenceNumbersRise(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue, last := c.ymq(t, nil), ""
		for i := range 5 {
			sent := c.send(t, queue, "m", group("g"), dedup(fmt.Sprint(i)))
			if number := aws.ToString(sent.SequenceNumber); number <= last {
				t.Errorf("sequence number %q after %q", number, last)
			} else {
				last = number
			}
		}
	})
}

var hitsLine = regexp.MustCompile(`(?m)^seriatim_dedup_hits(?:_total)?(?:\{[^}]*\})? ([0-9.e+]+)$`)

// TestYMQDuplicatesAreCounted reads the counter of all nodes: the one that
// accepted the duplicate counts it.
func TestYMQDuplicatesAreCounted(t *testing.T) {
	t.Parallel()
	c := newClient(shared.cluster, protocolJSON)
	queue := c.ymq(t, nil)
	c.send(t, queue, "m", group("g"), dedup("X"))
	count := func() float64 {
		t.Helper()
		sum := 0.0
		for _, n := range shared.cluster.Nodes {
			text, err := n.Metrics(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range hitsLine.FindAllStringSubmatch(text, -1) {
				value, err := strconv.ParseFloat(line[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += value
			}
		}
		return sum
	}
	// Other tests send duplicates at the same time, so this is a lower bound.
	start := count()
	const duplicates = 25
	for range duplicates {
		c.send(t, queue, "m", group("g"), dedup("X"))
	}
	if risen := count() - start; risen < duplicates {
		t.Errorf("%d duplicates raised the counter by %v", duplicates, risen)
	}
}
