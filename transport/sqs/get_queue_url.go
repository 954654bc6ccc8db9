package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type getQueueURLInput struct {
	QueueName    string
	OwnerAccount string // accepted and not compared: there is one account
}

var getQueueURLInputSchema = awswire.Structure(
	awswire.String("QueueName", func(v *getQueueURLInput) *string { return &v.QueueName }),
	awswire.String("QueueOwnerAWSAccountId", func(v *getQueueURLInput) *string { return &v.OwnerAccount }),
)

// getQueueURL finds a queue by its name.
func (s *Service) getQueueURL(ctx context.Context, c *call, in *getQueueURLInput) (*queueURLOutput, error) {
	if in.QueueName == "" {
		return nil, missingParameter("QueueName")
	}
	c.record.Queue = in.QueueName
	err := s.read(ctx, c, func(v queue.View) error {
		if !v.QueueExists(in.QueueName) {
			return noSuchQueue()
		}
		return nil
	})
	return &queueURLOutput{s.queueURL(c, in.QueueName)}, err
}
