package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type createQueueInput struct {
	QueueName  awswire.Text
	Attributes []awswire.Pair
	Tags       []awswire.Pair
}

var createQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueName", func(v *createQueueInput) *awswire.Text { return &v.QueueName }),
	awswire.StringMap("Attributes", "Attribute", "Name", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Attributes }),
	// The model spells this member in lower case, unlike TagQueue.
	awswire.StringMap("tags", "Tag", "Key", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Tags }),
)

// createQueue creates a queue, or confirms an equal one. An empty name is given,
// as the model has it, and a bad one; only an absent one is missing.
func (s *Service) createQueue(ctx context.Context, c *call, in *createQueueInput) (*queueURLOutput, error) {
	if !in.QueueName.Given {
		return nil, missingParameter("QueueName")
	}
	name := in.QueueName.Value
	c.record.Queue = name[:min(len(name), queue.QueueNameLengthMax)]
	_, err := s.submit(ctx, c, &queue.CreateQueue{
		Queue: name, Attributes: queueAttributes(in.Attributes), Tags: queueTags(in.Tags),
	})
	return &queueURLOutput{s.queueURL(c, name)}, err
}
