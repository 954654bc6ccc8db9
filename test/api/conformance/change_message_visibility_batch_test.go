package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (c *client) tryHideBatch(t *testing.T, queue string,
	entries ...types.ChangeMessageVisibilityBatchRequestEntry) (*sqs.ChangeMessageVisibilityBatchOutput, *refusal) {
	t.Helper()
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &queue, Entries: entries}
	return call(t, c.sqs.ChangeMessageVisibilityBatch, in, nil)
}

func hiding(id, handle string, seconds int32) types.ChangeMessageVisibilityBatchRequestEntry {
	return types.ChangeMessageVisibilityBatchRequestEntry{Id: &id, ReceiptHandle: &handle, VisibilityTimeout: seconds}
}

func TestChangeMessageVisibilityBatchPartlyBad(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		handle := aws.ToString(c.one(t, queue).ReceiptHandle)
		out := must[*sqs.ChangeMessageVisibilityBatchOutput](t)(c.tryHideBatch(t, queue, hiding("good", handle, 0),
			hiding("bad", "garbage", 0)))
		checkFailed(t, []types.BatchResultErrorEntry{{
			Id: aws.String("bad"), SenderFault: true, Code: aws.String("ReceiptHandleIsInvalid"),
		}}, out.Failed)
		if len(out.Successful) != 1 || aws.ToString(out.Successful[0].Id) != "good" {
			t.Errorf("succeeded: %v", out.Successful)
		}
		c.expect(t, queue, "m")
	})
}

func TestChangeMessageVisibilityBatchOfADeletedMessage(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, queue := range []string{c.std(t, nil), c.fifo(t, attrs{"ContentBasedDeduplication": "true"})} {
			c.send(t, queue, "m", group("g"))
			m := c.one(t, queue)
			c.delete(t, queue, m)
			out := must[*sqs.ChangeMessageVisibilityBatchOutput](t)(c.tryHideBatch(t, queue, hiding("gone", *m.ReceiptHandle, 5)))
			checkFailed(t, []types.BatchResultErrorEntry{{
				Id: aws.String("gone"), SenderFault: true, Code: aws.String("ReceiptHandleIsInvalid"),
				Message: aws.String("Message does not exist or is not available for visibility timeout change"),
			}}, out.Failed)
		}
	})
}

func TestChangeMessageVisibilityBatchRefusals(t *testing.T) {
	var eleven []types.ChangeMessageVisibilityBatchRequestEntry
	for i := range 11 {
		eleven = append(eleven, hiding(fmt.Sprint(i), "h", 1))
	}
	cases := []struct {
		name       string
		entries    []types.ChangeMessageVisibilityBatchRequestEntry
		code, text string
	}{
		{"no entries", nil, "AWS.SimpleQueueService.EmptyBatchRequest",
			"There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request."},
		{"11 entries", eleven, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent 11."},
		{"bad id", []types.ChangeMessageVisibilityBatchRequestEntry{hiding("a b", "h", 1)}, badBatchID, batchIDText},
		{"repeated id", []types.ChangeMessageVisibilityBatchRequestEntry{hiding("a", "h", 1), hiding("a", "h", 1)},
			"AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id a repeated."},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.tryHideBatch(t, queue, test.entries...)
				refused(t, got, test.code, test.text)
			})
		}
	})
}
