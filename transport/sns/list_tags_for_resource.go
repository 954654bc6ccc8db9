package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listTagsForResourceOutput struct{ Tags []tag }

var listTagsForResourceOutputSchema = awswire.Structure(
	tagsMember(func(v *listTagsForResourceOutput) *[]tag { return &v.Tags }),
)

func listTagsForResource(ctx context.Context, c *aws.Call, _ *resourceOnlyInput) (*listTagsForResourceOutput, error) {
	tags, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Tag, *queue.Error) { return v.TopicTags(c.Resource.Topic) })
	out := &listTagsForResourceOutput{}
	for _, t := range tags {
		out.Tags = append(out.Tags, tag{awswire.TextOf(t.Key), awswire.TextOf(t.Value)})
	}
	return out, err
}
