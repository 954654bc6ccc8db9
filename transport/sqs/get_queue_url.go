package sqs

import (
	"context"

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

// byNameAndOwner finds the queue by QueueName and QueueOwnerAWSAccountId.
func byNameAndOwner(c *aws.Call, input any) (service.Resource, error) {
	name, err := givenName(input)
	if err != nil {
		return service.Resource{}, err
	}
	return existing(name, c.Scope.Of(input.(*getQueueURLInput).OwnerAccount, name))
}

// noSuchQueue is the answer of SQS also for a queue of another account without the permission.
func noSuchQueue() error { return refusal.NoSuchQueue() }

// getQueueURL finds a queue by its name.
func (s *Service) getQueueURL(ctx context.Context, c *aws.Call, _ *getQueueURLInput) (*queueURLOutput, error) {
	return &queueURLOutput{c.QueueURL(c.Resource.Name)}, refuse(ctx, c, nil)
}
