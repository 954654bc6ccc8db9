package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
)

// purgeQueue deletes all messages of a queue.
func (s *Service) purgeQueue(ctx context.Context, c *call, in *queueOnlyInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	_, err = s.submit(ctx, c, &queue.PurgeQueue{Queue: name})
	return &nothing{}, err
}
