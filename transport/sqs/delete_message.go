package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type deleteMessageInput struct {
	onQueue
	ReceiptHandle string
}

var deleteMessageInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *deleteMessageInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("ReceiptHandle", func(v *deleteMessageInput) *string { return &v.ReceiptHandle }),
)

// deleteMessage deletes one message by its receipt handle.
func (s *Service) deleteMessage(ctx context.Context, c *aws.Call, in *deleteMessageInput) (*aws.Nothing, error) {
	if in.ReceiptHandle == "" {
		return nil, refusal.MissingParameter("ReceiptHandle")
	}
	result, err := c.Submit(ctx, &queue.DeleteMessages{Queue: c.Resource.Name, Handles: []string{in.ReceiptHandle}})
	if err != nil {
		return nil, err
	}
	return &aws.Nothing{}, onlyError(result)
}

// onlyError is the outcome of a single-entry form of EntriesDone.
func onlyError(result queue.Result) error {
	if done, ok := result.(queue.EntriesDone); ok && len(done.Errs) == 1 && done.Errs[0] != nil {
		return done.Errs[0]
	}
	return nil
}
