package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestChangeMessageVisibilityToZero(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		c.hide(t, queue, c.one(t, queue), 0)
		if got := bodies(c.receive(t, queue, wait(0))); len(got) != 1 {
			t.Fatalf("received %q, want the message", got)
		}
		// The default of the queue applies to the new delivery.
		c.empty(t, queue)
	})
}

func TestChangeMessageVisibilityWakesLongPoll(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"))
		m := c.one(t, queue)
		got := make(chan []string, 1) // one answer, never blocks its sender
		start := time.Now()
		go func() {
			defer close(got)
			got <- bodies(c.receive(t, queue, wait(20)))
		}()
		c.pass(t, 1)
		c.hide(t, queue, m, 0)
		if bodies := <-got; len(bodies) != 1 && before(t, start, 20*time.Second) {
			t.Errorf("received %q, want the message", bodies)
		}
	})
}

func TestChangeMessageVisibilityMalformedHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.tryHide(t, c.std(t, nil), "INVALID", 10), "ReceiptHandleIsInvalid", badHandle("INVALID"))
	})
}

func TestChangeMessageVisibilityBeyondTwelveHours(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		m := c.one(t, queue)
		c.pass(t, 1)
		const reason = " for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the " +
			"message is beyond the limit [43200 seconds]."
		refused(t, c.tryHide(t, queue, *m.ReceiptHandle, 43200), "InvalidParameterValue", "Value 43200"+reason)
		c.hide(t, queue, m, 43000)
		for _, bad := range []int32{43201, -1} {
			refused(t, c.tryHide(t, queue, *m.ReceiptHandle, bad), "InvalidParameterValue", "")
		}
	})
}

func TestChangeMessageVisibilityRepeated(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		m := c.one(t, queue, hidden(3))
		for range 4 {
			renewed := time.Now()
			c.hide(t, queue, m, 3)
			got := c.receive(t, queue, wait(1))
			if before(t, renewed, 3*time.Second) && len(got) != 0 {
				t.Fatal("the message showed although its timeout was renewed in time")
			}
			if len(got) != 0 {
				m = got[0]
			}
		}
	})
}

func TestChangeMessageVisibilityOfADeletedMessage(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, queue := range []string{c.std(t, nil), c.fifo(t, attrs{"ContentBasedDeduplication": "true"})} {
			c.send(t, queue, "m", group("g"))
			m := c.one(t, queue)
			c.delete(t, queue, m)
			refused(t, c.tryHide(t, queue, *m.ReceiptHandle, 5), "InvalidParameterValue",
				"Value "+*m.ReceiptHandle+" for parameter ReceiptHandle is invalid. Reason: Message does not exist or is "+
					"not available for visibility timeout change.")
		}
	})
}

func TestChangeMessageVisibilityStandardExpired(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "0"})
		c.send(t, queue, "m")
		c.hide(t, queue, c.one(t, queue), 60)
		c.empty(t, queue)
	})
}

func TestChangeMessageVisibilityFIFOExpired(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"VisibilityTimeout": "0"})
		c.send(t, queue, "m", group("g"), dedup("d"))
		handle := aws.ToString(c.one(t, queue).ReceiptHandle)
		refused(t, c.tryHide(t, queue, handle, 60), "InvalidParameterValue",
			"Value "+handle+" for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not "+
				"available for visibility timeout change.")
	})
}

func TestChangeMessageVisibilityKeepsFIFOHandle(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"))
		start := time.Now()
		m := c.one(t, queue, hidden(3))
		if got := c.tryHide(t, queue, *m.ReceiptHandle, 600); got != nil {
			if before(t, start, 3*time.Second) {
				t.Fatalf("refused: %v", got)
			}
			return
		}
		c.pass(t, 4)
		c.delete(t, queue, m)
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestChangeMessageVisibilityWithoutTimeout(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	c.send(t, queue, "m")
	handle := aws.ToString(c.one(t, queue).ReceiptHandle)
	const want = "The request must contain the parameter VisibilityTimeout."
	refused(t, postJSON(t, "ChangeMessageVisibility", object{"QueueUrl": queue, "ReceiptHandle": handle}).refusal(t, true),
		"MissingParameter", want)
	refused(t, postForm(t, "Action", "ChangeMessageVisibility", "QueueUrl", queue, "ReceiptHandle", handle).refusal(t, false),
		"MissingParameter", want)
	_, got := call(t, c.sqs.ChangeMessageVisibility, &sqs.ChangeMessageVisibilityInput{QueueUrl: &queue, VisibilityTimeout: 1}, nil)
	refused(t, got, "MissingParameter", fmt.Sprintf("The request must contain the parameter %s.", "ReceiptHandle"))
}
