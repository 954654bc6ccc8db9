package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type deleteMessageInput struct {
	QueueURL      awswire.Text
	ReceiptHandle string
}

var deleteMessageInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *deleteMessageInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("ReceiptHandle", func(v *deleteMessageInput) *string { return &v.ReceiptHandle }),
)

// deleteMessage deletes one message by its receipt handle.
func (s *Service) deleteMessage(ctx context.Context, c *call, in *deleteMessageInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if in.ReceiptHandle == "" {
		return nil, missingParameter("ReceiptHandle")
	}
	result, err := s.submit(ctx, c, &queue.DeleteMessages{Queue: name, Handles: []string{in.ReceiptHandle}})
	if err != nil {
		return nil, err
	}
	return &nothing{}, onlyError(result)
}

// onlyError is the outcome of a single-entry form of EntriesDone.
func onlyError(result queue.Result) error {
	if done, ok := result.(queue.EntriesDone); ok && len(done.Errs) == 1 && done.Errs[0] != nil {
		return done.Errs[0]
	}
	return nil
}
