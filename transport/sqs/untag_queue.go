package sqs

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type untagQueueInput struct {
	QueueURL awswire.Text
	TagKeys  []string
}

var untagQueueInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *untagQueueInput) *awswire.Text { return &v.QueueURL }),
	awswire.Strings("TagKeys", "TagKey", func(v *untagQueueInput) *[]string { return &v.TagKeys }),
)

// untagQueue removes tags; unknown keys are ignored.
func (s *Service) untagQueue(ctx context.Context, c *call, in *untagQueueInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(in.TagKeys) == 0 {
		return nil, s.refuse(ctx, c, name, invalidParameter("Tag keys must be between 1 and 128 characters in length."))
	}
	keys := slices.Clone(in.TagKeys)
	slices.Sort(keys)
	_, err = s.submit(ctx, c, &queue.SetQueueTags{Queue: name, Remove: slices.Compact(keys)})
	return &nothing{}, err
}
