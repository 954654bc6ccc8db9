package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type getQueueURLInput struct {
	named
	OwnerAccount string // the caller's unless it is given
}

var getQueueURLInputSchema = awswire.Structure(
	awswire.OptionalString("QueueName", func(v *getQueueURLInput) *awswire.Text { return &v.QueueName }),
	awswire.String("QueueOwnerAWSAccountId", func(v *getQueueURLInput) *string { return &v.OwnerAccount }),
)

// byNameAndOwner is for the queue that QueueName and QueueOwnerAWSAccountId name.
func byNameAndOwner(c *aws.Call, input any) (service.Resource, error) {
	name, err := givenName(input)
	if err != nil {
		return service.Resource{}, err
	}
	return existing(name, c.Scope.Of(input.(*getQueueURLInput).OwnerAccount, name))
}

// noSuchQueue is what SQS answers also for a queue of another account that the caller may
// not see.
func noSuchQueue() error { return refusal.NoSuchQueue() }

// getQueueURL finds a queue by its name.
func (s *Service) getQueueURL(ctx context.Context, c *aws.Call, _ *getQueueURLInput) (*queueURLOutput, error) {
	err := c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.Resource.Name) {
			return refusal.NoSuchQueue()
		}
		return nil
	})
	return &queueURLOutput{c.QueueURL(c.Resource.Name)}, err
}
