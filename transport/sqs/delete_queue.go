package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

func (s *Service) deleteQueue(ctx context.Context, c *aws.Call, _ *queueOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.DeleteQueue{Queue: c.Resource.Name})
	return &aws.Nothing{}, err
}
