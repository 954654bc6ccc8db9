package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type visibilityEntry struct {
	ID, ReceiptHandle string
	VisibilityTimeout awswire.Int
}

type changeMessageVisibilityBatchInput struct {
	onQueue
	Entries []visibilityEntry
}

const visibilityEntryName = "ChangeMessageVisibilityBatchRequestEntry"

var changeMessageVisibilityBatchInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *changeMessageVisibilityBatchInput) *awswire.Text { return &v.QueueURL }),
	awswire.Structures("Entries", visibilityEntryName, awswire.Structure(
		awswire.String("Id", func(v *visibilityEntry) *string { return &v.ID }),
		awswire.String("ReceiptHandle", func(v *visibilityEntry) *string { return &v.ReceiptHandle }),
		awswire.Integer("VisibilityTimeout", func(v *visibilityEntry) *awswire.Int { return &v.VisibilityTimeout }),
	), func(v *changeMessageVisibilityBatchInput) *[]visibilityEntry { return &v.Entries }),
)

var changeMessageVisibilityBatchOutputSchema = batchOutputSchema("ChangeMessageVisibilityBatchResultEntry")

// changeMessageVisibilityBatch sets the visibility timeouts of up to ten messages in flight, each on
// its own.
func (s *Service) changeMessageVisibilityBatch(ctx context.Context, c *aws.Call, in *changeMessageVisibilityBatchInput) (*batchOutput,
	error) {
	id := func(i int) string { return in.Entries[i].ID }
	if refusal := checkBatch(visibilityEntryName, len(in.Entries), id); refusal != nil {
		return nil, refuse(ctx, c, refusal)
	}
	entries := make([]queue.VisibilityEntry, len(in.Entries))
	for i := range in.Entries {
		entries[i] = queue.VisibilityEntry{Handle: in.Entries[i].ReceiptHandle,
			VisibilityTimeout: queue.Int(in.Entries[i].VisibilityTimeout)}
	}
	return submitBatch(ctx, c, &queue.ChangeMessageVisibility{Queue: c.Resource.Name, Batch: true, Entries: entries}, id)
}
