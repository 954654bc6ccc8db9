package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type createQueueInput struct {
	named
	Attributes []awswire.Pair
	Tags       []awswire.Pair
}

func (in *createQueueInput) given() []awswire.Pair { return in.Attributes }

var createQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueName", func(v *createQueueInput) *awswire.Text { return &v.QueueName }),
	awswire.StringMap("Attributes", "Attribute", "Name", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Attributes }),
	// The model spells this member in lower case, unlike TagQueue.
	awswire.StringMap("tags", "Tag", "Key", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Tags }),
)

// createQueue creates a queue, or confirms an equal one.
func (s *Service) createQueue(ctx context.Context, c *aws.Call, in *createQueueInput) (*queueURLOutput, error) {
	attributes := aws.Attributes(in.Attributes)
	cmd := &queue.CreateQueue{Queue: c.Resource.Name, Attributes: attributes}
	if refused := cmd.CheckSQSName(); refused != nil {
		return nil, refused
	}
	if refused := s.Names.CheckRedrive(attributes); refused != nil {
		return nil, refused
	}
	var err error
	if cmd.Tags, err = queueTags(in.Tags); err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, cmd)
	return &queueURLOutput{c.QueueURL(c.Resource.Name)}, err
}
