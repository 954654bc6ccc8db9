package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
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
	return submitOne(ctx, c, &queue.DeleteMessages{Queue: c.Resource.Name, Handles: []string{in.ReceiptHandle}})
}

// submitOne submits a command with one entry, and returns the error of the entry.
func submitOne(ctx context.Context, c *aws.Call, cmd queue.Command) (*aws.Nothing, error) {
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call, cmd)
	if err == nil && len(done.Errs) == 1 && done.Errs[0] != nil {
		err = done.Errs[0]
	}
	return &aws.Nothing{}, err
}
