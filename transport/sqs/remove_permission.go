package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type removePermissionInput struct {
	onQueue
	Label string
}

var removePermissionInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *removePermissionInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("Label", func(v *removePermissionInput) *string { return &v.Label }),
)

func (s *Service) removePermission(ctx context.Context, c *aws.Call, in *removePermissionInput) (*aws.Nothing, error) {
	if in.Label == "" {
		return nil, refusal.MissingParameter("Label")
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{Queue: c.Resource.Name, QueueARN: c.ResourceARN(), Label: in.Label, Remove: true})
	return &aws.Nothing{}, err
}
