package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (c *client) tryDeleteBatch(t *testing.T, queue string, entries ...types.DeleteMessageBatchRequestEntry) (*sqs.DeleteMessageBatchOutput,
	*refusal) {
	t.Helper()
	return call(t, c.sqs.DeleteMessageBatch, &sqs.DeleteMessageBatchInput{QueueUrl: &queue, Entries: entries}, nil)
}

func deletion(id, handle string) types.DeleteMessageBatchRequestEntry {
	return types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: &handle}
}

func TestDeleteMessageBatchPartlyBad(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		handle := aws.ToString(c.one(t, queue).ReceiptHandle)
		out := must[*sqs.DeleteMessageBatchOutput](t)(c.tryDeleteBatch(t, queue, deletion("good", handle), deletion("bad", "garbage")))
		checkFailed(t, []types.BatchResultErrorEntry{{
			Id: aws.String("bad"), SenderFault: true, Code: aws.String("ReceiptHandleIsInvalid"),
		}}, out.Failed)
		if len(out.Successful) != 1 || aws.ToString(out.Successful[0].Id) != "good" {
			t.Errorf("succeeded: %v", out.Successful)
		}
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestDeleteMessageBatchFIFOExpired(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"))
		handle := aws.ToString(c.one(t, queue, hidden(0)).ReceiptHandle)
		out := must[*sqs.DeleteMessageBatchOutput](t)(c.tryDeleteBatch(t, queue, deletion("a", handle)))
		checkFailed(t, []types.BatchResultErrorEntry{{
			Id: aws.String("a"), SenderFault: true, Code: aws.String("ReceiptHandleIsInvalid"),
			Message: aws.String("The receipt handle has expired"),
		}}, out.Failed)
	})
}

func TestDeleteMessageBatchRefusals(t *testing.T) {
	var eleven []types.DeleteMessageBatchRequestEntry
	for i := range 11 {
		eleven = append(eleven, deletion(fmt.Sprint(i), "h"))
	}
	cases := []struct {
		name       string
		entries    []types.DeleteMessageBatchRequestEntry
		code, text string
	}{
		{"no entries", nil, "AWS.SimpleQueueService.EmptyBatchRequest",
			"There should be at least one DeleteMessageBatchRequestEntry in the request."},
		{"11 entries", eleven, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent 11."},
		{"bad id", []types.DeleteMessageBatchRequestEntry{deletion(strings.Repeat("i", 81), "h")}, badBatchID, batchIDText},
		{"repeated id", []types.DeleteMessageBatchRequestEntry{deletion("a", "h"), deletion("a", "h")},
			"AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id a repeated."},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.tryDeleteBatch(t, queue, test.entries...)
				refused(t, got, test.code, test.text)
			})
		}
	})
}

func TestDeleteMessageBatchOfTen(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		var sends []types.SendMessageBatchRequestEntry
		for i := range 10 {
			sends = append(sends, entry(fmt.Sprint(i), fmt.Sprint(i), group(fmt.Sprint("g", i%3)), dedup(fmt.Sprint(i))))
		}
		c.sendBatch(t, queue, sends...)
		var deletes []types.DeleteMessageBatchRequestEntry
		for i, m := range c.receive(t, queue, atMost(10), wait(20)) {
			deletes = append(deletes, deletion(fmt.Sprint(i), *m.ReceiptHandle))
		}
		out := must[*sqs.DeleteMessageBatchOutput](t)(c.tryDeleteBatch(t, queue, deletes...))
		if len(out.Successful) != 10 || len(out.Failed) != 0 {
			t.Errorf("%d succeeded, %d failed", len(out.Successful), len(out.Failed))
		}
		c.counts(t, queue, 0, 0, 0)
	})
}
