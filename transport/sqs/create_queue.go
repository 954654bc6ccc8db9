package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type createQueueInput struct {
	QueueName  string
	Attributes []awswire.Pair
	Tags       []awswire.Pair
}

var createQueueInputSchema = awswire.Structure(
	awswire.String("QueueName", func(v *createQueueInput) *string { return &v.QueueName }),
	awswire.StringMap("Attributes", "Attribute", "Name", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Attributes }),
	// The model spells this member in lower case, unlike TagQueue.
	awswire.StringMap("tags", "Tag", "Key", "Value", func(v *createQueueInput) *[]awswire.Pair { return &v.Tags }),
)

// createQueue creates a queue, or confirms an equal one.
func (s *Service) createQueue(ctx context.Context, c *call, in *createQueueInput) (*queueURLOutput, error) {
	if in.QueueName == "" {
		return nil, missingParameter("QueueName")
	}
	c.record.Queue = in.QueueName
	_, err := s.submit(ctx, c, &queue.CreateQueue{
		Queue: in.QueueName, Attributes: queueAttributes(in.Attributes), Tags: queueTags(in.Tags),
	})
	return &queueURLOutput{s.queueURL(c, in.QueueName)}, err
}
