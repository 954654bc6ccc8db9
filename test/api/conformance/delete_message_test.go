package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func badHandle(handle string) string {
	return `The input receipt handle "` + handle + `" is not a valid receipt handle.`
}

func expiredHandle(handle string) string {
	return "Value " + handle + " for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
}

func TestDeleteMessageStandardExpiredHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "0"})
		c.send(t, queue, "m")
		c.delete(t, queue, c.one(t, queue))
		c.empty(t, queue)
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestDeleteMessageStandardOlderHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "0"})
		c.send(t, queue, "m")
		first := c.one(t, queue)
		c.one(t, queue)
		c.delete(t, queue, first)
		c.empty(t, queue)
	})
}

func TestDeleteMessageThreeTimes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		m := c.one(t, queue)
		c.delete(t, queue, m, m, m)
	})
}

func TestDeleteMessageFIFOAgain(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"VisibilityTimeout": "2"})
		c.send(t, queue, "m", group("g"), dedup("d"))
		m := c.one(t, queue)
		c.delete(t, queue, m, m)
		c.pass(t, 3)
		// It is deleted although its visibility timeout is over.
		c.delete(t, queue, m)
	})
}

func TestDeleteMessageMalformedHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		std, fifo := c.std(t, nil), c.fifo(t, nil)
		for _, queue := range []string{std, fifo} {
			got := c.tryDelete(t, queue, "garbage")
			refused(t, got, "ReceiptHandleIsInvalid", badHandle("garbage"))
			if got.Status != 404 {
				t.Errorf("HTTP %d, want 404", got.Status)
			}
		}
	})
}

// TestDeleteMessageForgedHandle: a handle of another queue, one with a changed
// digit and one that is cut short remove nothing.
func TestDeleteMessageForgedHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue, other := c.std(t, nil), c.std(t, nil)
		c.send(t, queue, "m")
		handle := aws.ToString(c.one(t, queue).ReceiptHandle)
		flipped := []byte(handle)
		if flipped[len(flipped)/2] == '0' {
			flipped[len(flipped)/2] = '1'
		} else {
			flipped[len(flipped)/2] = '0'
		}
		for _, forged := range []string{string(flipped), handle[:len(handle)-2], handle + "00"} {
			refused(t, c.tryDelete(t, queue, forged), "ReceiptHandleIsInvalid", badHandle(forged))
		}
		refused(t, c.tryDelete(t, other, handle), "ReceiptHandleIsInvalid", badHandle(handle))
		c.counts(t, queue, 0, 1, 0)
	})
}

func TestDeleteMessageUnknownQueueFirst(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.tryDelete(t, c.missing(t), "garbage"), "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}

func TestDeleteMessageFIFOWithinTimeout(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"VisibilityTimeout": "30"})
		c.send(t, queue, "m", group("g"), dedup("d"))
		c.delete(t, queue, c.one(t, queue))
		c.counts(t, queue, 0, 0, 0)
		c.empty(t, queue)
	})
}

func TestDeleteMessageFIFOExpiredHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"))
		handle := aws.ToString(c.one(t, queue, hidden(0)).ReceiptHandle)
		refused(t, c.tryDelete(t, queue, handle), "InvalidParameterValue", expiredHandle(handle))
		// The message was not received again, but the handle has expired.
		handle = aws.ToString(c.one(t, queue, hidden(1)).ReceiptHandle)
		c.pass(t, 2)
		refused(t, c.tryDelete(t, queue, handle), "InvalidParameterValue", expiredHandle(handle))
		c.counts(t, queue, 1, 0, 0)
	})
}

func TestDeleteMessageFIFOSupersededHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"))
		old := aws.ToString(c.one(t, queue, hidden(0)).ReceiptHandle)
		c.one(t, queue)
		refused(t, c.tryDelete(t, queue, old), "InvalidParameterValue", expiredHandle(old))
		c.counts(t, queue, 0, 1, 0)
	})
}
