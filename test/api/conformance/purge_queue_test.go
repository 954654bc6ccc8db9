package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func purgeInput(queue string) *sqs.PurgeQueueInput { return &sqs.PurgeQueueInput{QueueUrl: &queue} }

func TestPurgeQueueInFlight(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "1"})
		for i := range 10 {
			c.send(t, queue, fmt.Sprint(i))
		}
		taken := c.receive(t, queue, atMost(5))
		c.purge(t, queue)
		c.counts(t, queue, 0, 0, 0)
		c.pass(t, 2)
		c.empty(t, queue)
		// A handle of a purged message acts like that of a deleted one.
		c.delete(t, queue, taken...)
	})
}

func TestPurgeQueueDelayed(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"DelaySeconds": "2"})
		for i := range 5 {
			c.send(t, queue, fmt.Sprint(i))
		}
		c.purge(t, queue)
		c.pass(t, 3)
		c.empty(t, queue)
	})
}

func TestPurgeQueueKeepsLaterMessages(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "old", group("g"), dedup("d"))
		c.purge(t, queue)
		// The purge also deleted the deduplication records.
		for i := range 3 {
			c.send(t, queue, fmt.Sprint(i), group("g"), dedup("d"+fmt.Sprint(i)))
		}
		c.expect(t, queue, "0", "1", "2")
	})
}

func TestPurgeQueueClearsDeduplication(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		first := c.send(t, queue, "old", group("g"), dedup("d"))
		c.purge(t, queue)
		second := c.send(t, queue, "new", group("g"), dedup("d"))
		if aws.ToString(first.MessageId) == aws.ToString(second.MessageId) {
			t.Error("the send after the purge was taken for a duplicate")
		}
		c.expect(t, queue, "new")
	})
}

// TestPurgeQueueTwiceWithoutCooldown: the 60 seconds of AWS are off by default.
func TestPurgeQueueTwiceWithoutCooldown(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.purge(t, queue)
		c.purge(t, queue)
	})
}
