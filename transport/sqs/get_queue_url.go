package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type getQueueURLInput struct {
	QueueName    awswire.Text
	OwnerAccount string // accepted and not compared: there is one account
}

var getQueueURLInputSchema = awswire.Structure(
	awswire.OptionalString("QueueName", func(v *getQueueURLInput) *awswire.Text { return &v.QueueName }),
	awswire.String("QueueOwnerAWSAccountId", func(v *getQueueURLInput) *string { return &v.OwnerAccount }),
)

// getQueueURL finds a queue by its name.
func (s *Service) getQueueURL(ctx context.Context, c *call, in *getQueueURLInput) (*queueURLOutput, error) {
	if !in.QueueName.Given {
		return nil, missingParameter("QueueName")
	}
	name := in.QueueName.Value
	if len(name) > queue.QueueNameLengthMax {
		return nil, noSuchQueue()
	}
	c.record.Queue = name
	err := s.read(ctx, c, func(v queue.View) error {
		if !v.QueueExists(name) {
			return noSuchQueue()
		}
		return nil
	})
	return &queueURLOutput{s.queueURL(c, name)}, err
}
