package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type setQueueAttributesInput struct {
	onQueue
	Attributes []awswire.Pair
}

func (in *setQueueAttributesInput) given() []awswire.Pair { return in.Attributes }

var setQueueAttributesInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *setQueueAttributesInput) *awswire.Text { return &v.QueueURL }),
	awswire.StringMap("Attributes", "Attribute", "Name", "Value",
		func(v *setQueueAttributesInput) *[]awswire.Pair { return &v.Attributes }),
)

// setQueueAttributes changes attributes, all or none.
func (s *Service) setQueueAttributes(ctx context.Context, c *aws.Call, in *setQueueAttributesInput) (*aws.Nothing, error) {
	if len(in.Attributes) == 0 {
		return nil, refusal.MissingParameter("Attributes")
	}
	attributes := aws.Attributes(in.Attributes)
	if refused := s.Names.CheckRedrive(attributes); refused != nil {
		return nil, refuse(ctx, c, refused)
	}
	_, err := c.Submit(ctx, &queue.SetQueueAttributes{Queue: c.Resource.Name, Attributes: attributes})
	return &aws.Nothing{}, err
}
