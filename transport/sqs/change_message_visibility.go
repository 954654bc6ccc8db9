package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type changeMessageVisibilityInput struct {
	QueueURL          awswire.Text
	ReceiptHandle     string
	VisibilityTimeout awswire.Int
}

var changeMessageVisibilityInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *changeMessageVisibilityInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("ReceiptHandle", func(v *changeMessageVisibilityInput) *string { return &v.ReceiptHandle }),
	awswire.Integer("VisibilityTimeout", func(v *changeMessageVisibilityInput) *awswire.Int { return &v.VisibilityTimeout }),
)

// changeMessageVisibility sets a new visibility timeout of one delivery.
func (s *Service) changeMessageVisibility(ctx context.Context, c *call, in *changeMessageVisibilityInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	switch {
	case in.ReceiptHandle == "":
		return nil, missingParameter("ReceiptHandle")
	case !in.VisibilityTimeout.Given:
		return nil, missingParameter("VisibilityTimeout")
	}
	result, err := s.submit(ctx, c, &queue.ChangeMessageVisibility{Queue: name, Entries: []queue.VisibilityEntry{
		{Handle: in.ReceiptHandle, VisibilityTimeout: queue.Int(in.VisibilityTimeout)},
	}})
	if err != nil {
		return nil, err
	}
	return &nothing{}, onlyError(result)
}
