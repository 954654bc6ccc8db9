package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type listTagsForResourceOutput struct{ Tags []tag }

var listTagsForResourceOutputSchema = awswire.Structure(
	tagsMember(func(v *listTagsForResourceOutput) *[]tag { return &v.Tags }),
)

// listTagsForResource lists all tags of a topic.
func listTagsForResource(ctx context.Context, c *aws.Call, _ *resourceOnlyInput) (*listTagsForResourceOutput, error) {
	out := &listTagsForResourceOutput{}
	err := c.Read(ctx, func(v queue.View) error {
		tags, refused := v.TopicTags(c.Resource.Topic)
		if refused != nil {
			return refused
		}
		for _, t := range tags {
			out.Tags = append(out.Tags, tag{awswire.TextOf(t.Key), awswire.TextOf(t.Value)})
		}
		return nil
	})
	return out, err
}
