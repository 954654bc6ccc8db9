package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listQueueTagsOutput struct{ Tags []awswire.Pair }

var listQueueTagsOutputSchema = awswire.Structure(
	awswire.StringMap("Tags", "Tag", "Key", "Value", func(v *listQueueTagsOutput) *[]awswire.Pair { return &v.Tags }),
)

func (s *Service) listQueueTags(ctx context.Context, c *aws.Call, _ *queueOnlyInput) (*listQueueTagsOutput, error) {
	tags, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Tag, *queue.Error) { return v.Tags(c.Resource.Name) })
	out := &listQueueTagsOutput{}
	for _, t := range tags {
		out.Tags = append(out.Tags, awswire.Pair{Key: t.Key, Value: t.Value})
	}
	return out, err
}
