package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

func (s *Service) purgeQueue(ctx context.Context, c *aws.Call, _ *queueOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.PurgeQueue{Queue: c.Resource.Name})
	return &aws.Nothing{}, err
}
