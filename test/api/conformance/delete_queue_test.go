package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestDeleteQueueUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.missing(t)
		_, got := call(t, c.sqs.DeleteQueue, &sqs.DeleteQueueInput{QueueUrl: &queue}, nil)
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}

// TestDeleteQueueThenAnyAction also shows that the queue is gone on every node at once, since the
// calls go to different nodes.
func TestDeleteQueueThenAnyAction(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		m := c.one(t, queue)
		c.deleteQueue(t, queue)
		check := func(action string, got *refusal) {
			t.Helper()
			if got == nil {
				t.Fatalf("%s works on a deleted queue", action)
			}
			refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
		}
		_, got := c.trySend(t, queue, "m")
		check("SendMessage", got)
		_, got = c.trySendBatch(t, queue, entry("a", "m"))
		check("SendMessageBatch", got)
		_, got = c.tryReceive(t, queue)
		check("ReceiveMessage", got)
		check("DeleteMessage", c.tryDelete(t, queue, *m.ReceiptHandle))
		check("ChangeMessageVisibility", c.tryHide(t, queue, *m.ReceiptHandle, 3))
		check("SetQueueAttributes", c.trySet(t, queue, attrs{"DelaySeconds": "1"}))
		check("TagQueue", c.tryTag(t, queue, map[string]string{"a": "b"}))
		_, got = call(t, c.sqs.PurgeQueue, purgeInput(queue), nil)
		check("PurgeQueue", got)
		_, got = call(t, c.sqs.GetQueueAttributes,
			&sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{"All"}}, nil)
		check("GetQueueAttributes", got)
		name := queueName(queue)
		_, got = call(t, c.sqs.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name}, nil)
		check("GetQueueUrl", got)
	})
}

func TestDeleteQueueEndsLongPoll(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		ended := make(chan *refusal, 1) // one answer, never blocks its sender
		go func() {
			defer close(ended)
			_, got := c.tryReceive(t, queue, wait(20))
			ended <- got
		}()
		c.pass(t, 1)
		c.deleteQueue(t, queue)
		refused(t, <-ended, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}

// TestDeleteQueueOfADeadLetterQueue: a message whose dead-letter queue is gone
// stays where it is and is delivered.
func TestDeleteQueueOfADeadLetterQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		source := c.std(t, attrs{"RedrivePolicy": redrive(target, 1), "VisibilityTimeout": "0"})
		c.send(t, source, "kept")
		c.deleteQueue(t, target)
		for range 3 {
			c.expect(t, source, "kept")
		}
	})
}
