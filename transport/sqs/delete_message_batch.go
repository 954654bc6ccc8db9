package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type deleteEntry struct{ ID, ReceiptHandle string }

type deleteMessageBatchInput struct {
	onQueue
	Entries []deleteEntry
}

const deleteEntryName = "DeleteMessageBatchRequestEntry"

var deleteMessageBatchInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *deleteMessageBatchInput) *awswire.Text { return &v.QueueURL }),
	awswire.Structures("Entries", deleteEntryName, awswire.Structure(
		awswire.String("Id", func(v *deleteEntry) *string { return &v.ID }),
		awswire.String("ReceiptHandle", func(v *deleteEntry) *string { return &v.ReceiptHandle }),
	), func(v *deleteMessageBatchInput) *[]deleteEntry { return &v.Entries }),
)

var deleteMessageBatchOutputSchema = batchOutputSchema("DeleteMessageBatchResultEntry")

// deleteMessageBatch deletes up to ten messages, each on its own.
func (s *Service) deleteMessageBatch(ctx context.Context, c *aws.Call, in *deleteMessageBatchInput) (*batchOutput, error) {
	id := func(i int) string { return in.Entries[i].ID }
	if refusal := checkBatch(deleteEntryName, len(in.Entries), id); refusal != nil {
		return nil, refuse(ctx, c, refusal)
	}
	handles := make([]string, len(in.Entries))
	for i := range in.Entries {
		handles[i] = in.Entries[i].ReceiptHandle
	}
	return submitBatch(ctx, c, &queue.DeleteMessages{Queue: c.Resource.Name, Batch: true, Handles: handles}, id)
}
