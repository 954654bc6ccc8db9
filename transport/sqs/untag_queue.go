package sqs

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type untagQueueInput struct {
	onQueue
	TagKeys []string
}

var untagQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *untagQueueInput) *awswire.Text { return &v.QueueURL }),
	awswire.Strings("TagKeys", "TagKey", func(v *untagQueueInput) *[]string { return &v.TagKeys }),
)

// untagQueue removes tags; unknown keys are ignored.
func (s *Service) untagQueue(ctx context.Context, c *aws.Call, in *untagQueueInput) (*aws.Nothing, error) {
	if len(in.TagKeys) == 0 {
		return nil, refuse(ctx, c, refusal.InvalidParameter("Tag keys must be between 1 and 128 characters in length."))
	}
	keys := slices.Compact(slices.Sorted(slices.Values(in.TagKeys)))
	_, err := c.Submit(ctx, &queue.SetQueueTags{Queue: c.Resource.Name, Remove: keys})
	return &aws.Nothing{}, err
}
