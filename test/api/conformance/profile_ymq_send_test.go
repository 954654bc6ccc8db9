package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

func TestYMQDeduplication(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"no id", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			_, got := c.trySend(t, queue, "m", group("g"))
			refused(t, got, "InvalidParameterValue", noDeduplicationText)
			c.counts(t, queue, 0, 0, 0)
		}},
		{"same id", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.delete(t, queue, c.expect(t, queue, "m")...)
			c.counts(t, queue, 0, 0, 0)
		}},
		{"first answer", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			first, again := c.send(t, queue, "m", group("g"), dedup("X")), c.send(t, queue, "m", group("g"), dedup("X"))
			sameMessage(t, first, again)
			if number := aws.ToString(first.SequenceNumber); number == "" || number != aws.ToString(again.SequenceNumber) {
				t.Errorf("sequence number %q, then %q", number, aws.ToString(again.SequenceNumber))
			}
		}},
		{"another body", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.send(t, queue, "first", group("g"), dedup("X"))
			again := c.send(t, queue, "test", group("g"), dedup("X"))
			if digest := aws.ToString(again.MD5OfMessageBody); digest != "098f6bcd4621d373cade4e832627b4f6" {
				t.Errorf("digest %q is not that of the second body", digest)
			}
			c.expect(t, queue, "first")
		}},
		{"another group", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.send(t, queue, "1", group("1"), dedup("X"))
			c.send(t, queue, "2", group("2"), dedup("X"))
			c.expect(t, queue, "1")
			c.counts(t, queue, 0, 1, 0)
		}},
		{"received and deleted", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.delete(t, queue, c.one(t, queue))
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.counts(t, queue, 0, 0, 0)
		}},
		{"after the window", func(t *testing.T, c *client) {
			queue := c.ymq(t, attrs{"DeduplicationWindowSeconds": "3"})
			first := c.send(t, queue, "1", group("1"), dedup("X"))
			c.pass(t, 4)
			anotherMessage(t, first, c.send(t, queue, "2", group("2"), dedup("X")))
			c.expect(t, queue, "1", "2")
		}},
		{"a duplicate does not extend the window", func(t *testing.T, c *client) {
			queue := c.ymq(t, attrs{"DeduplicationWindowSeconds": "6"})
			start := time.Now()
			first := c.send(t, queue, "1", group("1"), dedup("X"))
			c.pass(t, 3)
			middle := time.Now()
			again := c.send(t, queue, "2", group("2"), dedup("X"))
			if before(t, start, 6*time.Second) {
				sameMessage(t, first, again)
			}
			c.pass(t, 4)
			third := c.send(t, queue, "3", group("3"), dedup("X"))
			// If duplicates extended the window, it would still be open.
			if before(t, middle, 6*time.Second) {
				anotherMessage(t, first, third)
			}
		}},
		{"purge keeps the history", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			first := c.send(t, queue, "m", group("g"), dedup("X"))
			c.purge(t, queue)
			sameMessage(t, first, c.send(t, queue, "m", group("g"), dedup("X")))
			c.counts(t, queue, 0, 0, 0)
		}},
		{"not counted", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.counts(t, queue, 1, 0, 0)
			c.send(t, queue, "m", group("g"), dedup("X"))
			c.counts(t, queue, 1, 0, 0)
		}},
	})
}

func TestYMQContentBasedDeduplication(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"same body", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			sameMessage(t, c.send(t, queue, fooBar, group("1")), c.send(t, queue, fooBar, group("2")))
			c.counts(t, queue, 1, 0, 0)
		}},
		{"other body", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			c.send(t, queue, "B", group("1"))
			c.send(t, queue, "C", group("2"))
			c.expect(t, queue, "B", "C")
		}},
		{"explicit id", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			c.send(t, queue, "B", group("g"), dedup("X"))
			if id := c.one(t, queue, everything).Attributes["MessageDeduplicationId"]; id != "X" {
				t.Errorf("MessageDeduplicationId %q", id)
			}
		}},
		{"generated id", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			c.send(t, queue, fooBar, group("g"))
			if id := c.one(t, queue, everything).Attributes["MessageDeduplicationId"]; id != fooBarHash || id != strings.ToLower(id) {
				t.Errorf("MessageDeduplicationId %q, want the SHA-256 in lower case, %q", id, fooBarHash)
			}
		}},
		{"other attributes", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			sameMessage(t, c.send(t, queue, "B", group("g"), text("k", "String", "x")),
				c.send(t, queue, "B", group("g"), text("k", "String", "y")))
			c.counts(t, queue, 1, 0, 0)
		}},
		{"explicit id, then the same content", func(t *testing.T, c *client) {
			queue := c.ymq(t, contentBased)
			anotherMessage(t, c.send(t, queue, "B", group("1"), dedup("X")), c.send(t, queue, "B", group("2")))
			c.expect(t, queue, "B", "B")
		}},
	})
}

func TestYMQSendRefusals(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"no group", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			_, got := c.trySend(t, queue, "m", dedup("X"))
			refused(t, got, "MissingParameter", "The request must contain the parameter MessageGroupId.")
			c.counts(t, queue, 0, 0, 0)
		}},
		{"id not ASCII", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			_, got := c.trySend(t, queue, "m", group("g"), dedup("идентификатор"))
			refused(t, got, "InvalidParameterValue", "")
			c.counts(t, queue, 0, 0, 0)
		}},
		{"id of 129 characters", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			_, got := c.trySend(t, queue, "m", group("g"), dedup(strings.Repeat("a", 129)))
			refused(t, got, "InvalidParameterValue", "")
			c.counts(t, queue, 0, 0, 0)
			c.send(t, queue, "m", group("g"), dedup(strings.Repeat("a", 128)))
			c.counts(t, queue, 1, 0, 0)
		}},
	})
}

func TestYMQBatches(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"same id", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			out := c.sendBatch(t, queue, entry("a", "1", group("g"), dedup("X")), entry("b", "2", group("g"), dedup("X")))
			if len(out.Successful) != 2 || aws.ToString(out.Successful[0].MessageId) != aws.ToString(out.Successful[1].MessageId) {
				t.Errorf("succeeded: %v", out.Successful)
			}
			c.expect(t, queue, "1")
			c.counts(t, queue, 0, 1, 0)
		}},
		{"same id in two groups", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			c.sendBatch(t, queue, entry("a", "1", group("1"), dedup("X")), entry("b", "2", group("2"), dedup("X")))
			c.expect(t, queue, "1")
			c.counts(t, queue, 0, 1, 0)
		}},
		{"one entry without id", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			_, got := c.trySendBatch(t, queue, entry("a", "1", group("g"), dedup("Y")), entry("b", "2", group("g")))
			refused(t, got, "InvalidParameterValue", noDeduplicationText)
			c.counts(t, queue, 0, 0, 0)
		}},
		{"eleven entries", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			var entries []types.SendMessageBatchRequestEntry
			for i := range 11 {
				entries = append(entries, entry(fmt.Sprint(i), "m", group("g"), dedup(fmt.Sprint(i))))
			}
			_, got := c.trySendBatch(t, queue, entries...)
			refused(t, got, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "")
			c.counts(t, queue, 0, 0, 0)
		}},
	})
}

func TestYMQSequenceNumbersRise(t *testing.T) {
	eachYMQ(t, []ymqCase{{"in one group", func(t *testing.T, c *client) {
		queue, last := c.ymq(t, nil), ""
		for i := range 5 {
			sent := c.send(t, queue, "m", group("g"), dedup(fmt.Sprint(i)))
			if number := aws.ToString(sent.SequenceNumber); len(number) < len(last) || number <= last {
				t.Errorf("sequence number %q after %q", number, last)
			} else {
				last = number
			}
		}
	}}})
}

var hitsLine = regexp.MustCompile(`(?m)^seriatim_dedup_hits_total(?:\{[^}]*\})? ([0-9.e+]+)$`)

// TestYMQDuplicatesAreCounted has its own cluster, because no other test may send
// duplicates to it.
func TestYMQDuplicatesAreCounted(t *testing.T) {
	t.Parallel()
	cluster := harness.New(t, harness.Options{Binary: shared.binary, Nodes: 1})
	var queues []string // each has had one duplicate
	for _, protocol := range []string{protocolJSON, protocolQuery} {
		c := newYandexClient(cluster, protocol)
		queue := c.ymq(t, nil)
		counted := func() (all int) { // for all queues
			t.Helper()
			text, err := cluster.Nodes[0].Metrics(t.Context())
			harness.Must(t, err)
			series := hitsLine.FindAllStringSubmatch(text, -1)
			if len(series) == 0 {
				t.Fatal("no counter")
			}
			for _, line := range series {
				hits, err := strconv.Atoi(line[1])
				harness.Must(t, err)
				all += hits
			}
			return all
		}
		c.send(t, queue, "m", group("g"), dedup("X"))
		first := counted()
		c.send(t, queue, "m", group("g"), dedup("X"))
		if second := counted(); first != len(queues) || second != first+1 {
			t.Errorf("the counter was %d after a first send and %d after its duplicate, with %d duplicates before", first, second,
				len(queues))
		}
		queues = append(queues, queue)
	}
}
