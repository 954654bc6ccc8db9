package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type listQueueTagsOutput struct{ Tags []awswire.Pair }

var listQueueTagsOutputSchema = awswire.Structure(
	awswire.StringMap("Tags", "Tag", "Key", "Value", func(v *listQueueTagsOutput) *[]awswire.Pair { return &v.Tags }),
)

// listQueueTags lists all tags of a queue.
func (s *Service) listQueueTags(ctx context.Context, c *aws.Call, _ *queueOnlyInput) (*listQueueTagsOutput, error) {
	out := &listQueueTagsOutput{}
	err := c.Read(ctx, func(v queue.View) error {
		tags, refusal := v.Tags(c.Resource.Name)
		if refusal != nil {
			return refusal
		}
		for _, t := range tags {
			out.Tags = append(out.Tags, awswire.Pair{Key: t.Key, Value: t.Value})
		}
		return nil
	})
	return out, err
}
