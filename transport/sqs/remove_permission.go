package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type removePermissionInput struct {
	QueueURL awswire.Text
	Label    string
}

var removePermissionInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *removePermissionInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("Label", func(v *removePermissionInput) *string { return &v.Label }),
)

// removePermission removes a statement from the access policy of a queue.
func (s *Service) removePermission(ctx context.Context, c *call, in *removePermissionInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if in.Label == "" {
		return nil, missingParameter("Label")
	}
	_, err = s.submit(ctx, c, &queue.SetQueuePolicy{Queue: name, QueueARN: s.arn(name), Label: in.Label, Remove: true})
	return &nothing{}, err
}
