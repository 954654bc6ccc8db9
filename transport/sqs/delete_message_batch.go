package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type deleteEntry struct{ ID, ReceiptHandle string }

type deleteMessageBatchInput struct {
	QueueURL awswire.Text
	Entries  []deleteEntry
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

// deleteMessageBatch deletes up to ten messages; each entry succeeds or fails
// for itself.
func (s *Service) deleteMessageBatch(ctx context.Context, c *call, in *deleteMessageBatchInput) (*batchOutput, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	id := func(i int) string { return in.Entries[i].ID }
	if refusal := checkBatch(deleteEntryName, len(in.Entries), id); refusal != nil {
		return nil, s.refuse(ctx, c, name, refusal)
	}
	handles := make([]string, len(in.Entries))
	for i := range in.Entries {
		handles[i] = in.Entries[i].ReceiptHandle
	}
	result, err := s.submit(ctx, c, &queue.DeleteMessages{Queue: name, Batch: true, Handles: handles})
	if err != nil {
		return nil, err
	}
	done, err := resultOf[queue.EntriesDone](result)
	if err != nil {
		return nil, err
	}
	return settled(done, id), nil
}
