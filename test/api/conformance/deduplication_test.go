package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const (
	fooBar     = `{"foo": "bar"}`
	fooBarHash = "426fc04f04bf8fdb5831dc37bbb6dcf70f63a37e05a68c6ea5f63e85ae579376"
)

var contentBased = attrs{"ContentBasedDeduplication": "true"}

// sameMessage checks that the second send was answered as the first.
func sameMessage(t *testing.T, first, second *sqs.SendMessageOutput) {
	t.Helper()
	if aws.ToString(first.MessageId) != aws.ToString(second.MessageId) {
		t.Errorf("the duplicate has MessageId %s, the first %s", aws.ToString(second.MessageId), aws.ToString(first.MessageId))
	}
	if aws.ToString(first.SequenceNumber) != aws.ToString(second.SequenceNumber) {
		t.Errorf("the duplicate has SequenceNumber %s, the first %s", aws.ToString(second.SequenceNumber),
			aws.ToString(first.SequenceNumber))
	}
}

func anotherMessage(t *testing.T, first, second *sqs.SendMessageOutput) {
	t.Helper()
	if aws.ToString(first.MessageId) == aws.ToString(second.MessageId) {
		t.Error("the second send was taken for a duplicate")
	}
}

func TestDeduplicationByID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		first := c.send(t, queue, "first", group("g"), dedup("d"))
		second := c.send(t, queue, "test", group("g"), dedup("d"), text("k", "String", "x"))
		sameMessage(t, first, second)
		// The digests are those of the second request.
		if aws.ToString(second.MD5OfMessageBody) != "098f6bcd4621d373cade4e832627b4f6" ||
			aws.ToString(second.MD5OfMessageAttributes) != "a45daa70926828a2f0a1db3418e6feb4" {
			t.Errorf("digests %q and %q", aws.ToString(second.MD5OfMessageBody), aws.ToString(second.MD5OfMessageAttributes))
		}
		if next := c.send(t, queue, "next", group("g"),
			dedup("e")); aws.ToString(next.SequenceNumber) <= aws.ToString(first.SequenceNumber) {
			t.Errorf("sequence number %q after %q", aws.ToString(next.SequenceNumber), aws.ToString(first.SequenceNumber))
		}
		c.counts(t, queue, 2, 0, 0)
		c.expect(t, queue, "first", "next")
	})
}

func TestDeduplicationByContent(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, contentBased)
		first := c.send(t, queue, fooBar, group("g"))
		sameMessage(t, first, c.send(t, queue, fooBar, group("g")))
		// Attributes and group are not part of the content hash.
		sameMessage(t, first, c.send(t, queue, fooBar, group("h"), text("k", "String", "x")))
		// An explicit id takes precedence, and one that equals the hash is a duplicate.
		anotherMessage(t, first, c.send(t, queue, fooBar, group("g"), dedup("other")))
		sameMessage(t, first, c.send(t, queue, "another body", group("g"), dedup(fooBarHash)))
		anotherMessage(t, first, c.send(t, queue, "another body", group("g")))
		got := c.expect(t, queue, fooBar, fooBar, "another body")
		if id := got[0].Attributes["MessageDeduplicationId"]; id != fooBarHash {
			t.Errorf("MessageDeduplicationId %q", id)
		}
		if id := got[1].Attributes["MessageDeduplicationId"]; id != "other" {
			t.Errorf("MessageDeduplicationId %q", id)
		}
	})
}

func TestDeduplicationOutlivesTheMessage(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("by id", func(t *testing.T) {
			queue := c.fifo(t, nil)
			first := c.send(t, queue, "m", group("g"), dedup("d"))
			c.delete(t, queue, c.one(t, queue))
			sameMessage(t, first, c.send(t, queue, "m", group("g"), dedup("d")))
			c.empty(t, queue)
		})
		t.Run("by content", func(t *testing.T) {
			queue := c.fifo(t, contentBased)
			first := c.send(t, queue, "m", group("g"))
			c.delete(t, queue, c.one(t, queue))
			sameMessage(t, first, c.send(t, queue, "m", group("g")))
			c.empty(t, queue)
		})
	})
}

func TestDeduplicationScope(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("queue", func(t *testing.T) {
			queue := c.fifo(t, nil)
			sameMessage(t, c.send(t, queue, "m", group("g1"), dedup("d")), c.send(t, queue, "m", group("g2"), dedup("d")))
		})
		for _, attributes := range []attrs{
			{"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"},
			{"DeduplicationScope": "messageGroup"},
		} {
			t.Run(fmt.Sprint("message group ", len(attributes)), func(t *testing.T) {
				queue := c.fifo(t, attributes)
				first := c.send(t, queue, "m", group("g1"), dedup("d"))
				anotherMessage(t, first, c.send(t, queue, "n", group("g2"), dedup("d")))
				sameMessage(t, first, c.send(t, queue, "o", group("g1"), dedup("d")))
				c.expect(t, queue, "m", "n")
			})
		}
	})
}

// TestDeduplicationWindowEnds uses a short window where AWS has five minutes.
func TestDeduplicationWindowEnds(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"DeduplicationWindowSeconds": "4"})
		start := time.Now()
		first := c.send(t, queue, "m", group("g"), dedup("d"))
		second := c.send(t, queue, "m", group("g"), dedup("d"))
		if before(t, start, 4*time.Second) {
			sameMessage(t, first, second)
		}
		sends := 0
		c.eventually(t, "the window ends", func() bool {
			// If these duplicates extended the window, the loop would never end.
			sends++
			second = c.send(t, queue, "n", group("g"), dedup("d"))
			return aws.ToString(second.MessageId) != aws.ToString(first.MessageId)
		})
		if sends > 30 {
			t.Errorf("a window of 4 s took %d tries a second apart", sends)
		}
		c.expect(t, queue, "m", "n")
	})
}

func TestDeduplicationInOneBatch(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		out := c.sendBatch(t, queue, entry("a", "1", group("g"), dedup("d")), entry("b", "2", group("h"), dedup("d")))
		if len(out.Successful) != 2 || aws.ToString(out.Successful[0].MessageId) != aws.ToString(out.Successful[1].MessageId) ||
			aws.ToString(out.Successful[0].SequenceNumber) != aws.ToString(out.Successful[1].SequenceNumber) {
			t.Errorf("succeeded: %v", out.Successful)
		}
		c.expect(t, queue, "1")
	})
}

func TestDeduplicationNotByRefusedSends(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		if _, got := c.trySend(t, queue, "\x00", group("g"), dedup("d")); got == nil {
			t.Fatal("a bad body was accepted")
		}
		c.send(t, queue, "m", group("g"), dedup("d"))
		c.expect(t, queue, "m")
	})
}
