package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type changeMessageVisibilityInput struct {
	onQueue
	ReceiptHandle     string
	VisibilityTimeout awswire.Int
}

var changeMessageVisibilityInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *changeMessageVisibilityInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("ReceiptHandle", func(v *changeMessageVisibilityInput) *string { return &v.ReceiptHandle }),
	awswire.Integer("VisibilityTimeout", func(v *changeMessageVisibilityInput) *awswire.Int { return &v.VisibilityTimeout }),
)

// changeMessageVisibility sets the visibility timeout of one message in flight.
func (s *Service) changeMessageVisibility(ctx context.Context, c *aws.Call, in *changeMessageVisibilityInput) (*aws.Nothing, error) {
	switch {
	case in.ReceiptHandle == "":
		return nil, refusal.MissingParameter("ReceiptHandle")
	case !in.VisibilityTimeout.Given:
		return nil, refusal.MissingParameter("VisibilityTimeout")
	}
	return submitOne(ctx, c, &queue.ChangeMessageVisibility{Queue: c.Resource.Name, Entries: []queue.VisibilityEntry{
		{Handle: in.ReceiptHandle, VisibilityTimeout: queue.Int(in.VisibilityTimeout)},
	}})
}
