package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type getQueueURLInput struct {
	named
	OwnerAccount string // accepted and not compared: there is one account
}

var getQueueURLInputSchema = awswire.Structure(
	awswire.OptionalString("QueueName", func(v *getQueueURLInput) *awswire.Text { return &v.QueueName }),
	awswire.String("QueueOwnerAWSAccountId", func(v *getQueueURLInput) *string { return &v.OwnerAccount }),
)

// getQueueURL finds a queue by its name.
func (s *Service) getQueueURL(ctx context.Context, c *aws.Call, _ *getQueueURLInput) (*queueURLOutput, error) {
	err := c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.Resource.Name) {
			return refusal.NoSuchQueue()
		}
		return nil
	})
	return &queueURLOutput{s.Names.QueueURL(c.Request, c.Resource.Name)}, err
}
