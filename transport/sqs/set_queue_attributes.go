package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type setQueueAttributesInput struct {
	QueueURL   awswire.Text
	Attributes []awswire.Pair
}

var setQueueAttributesInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *setQueueAttributesInput) *awswire.Text { return &v.QueueURL }),
	awswire.StringMap("Attributes", "Attribute", "Name", "Value", func(v *setQueueAttributesInput) *[]awswire.Pair { return &v.Attributes }),
)

// setQueueAttributes changes attributes, all or none.
func (s *Service) setQueueAttributes(ctx context.Context, c *call, in *setQueueAttributesInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(in.Attributes) == 0 {
		return nil, missingParameter("Attributes")
	}
	_, err = s.submit(ctx, c, &queue.SetQueueAttributes{Queue: name, Attributes: queueAttributes(in.Attributes)})
	return &nothing{}, err
}
