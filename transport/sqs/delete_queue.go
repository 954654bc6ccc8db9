package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
)

// deleteQueue removes a queue with all it holds.
func (s *Service) deleteQueue(ctx context.Context, c *call, in *queueOnlyInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	_, err = s.submit(ctx, c, &queue.DeleteQueue{Queue: name})
	return &nothing{}, err
}
