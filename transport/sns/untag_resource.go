package sns

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type untagResourceInput struct {
	onResource
	TagKeys []string
}

var untagResourceInputSchema = awswire.Structure(
	resourceMember(func(v *untagResourceInput) *onResource { return &v.onResource }),
	awswire.Within("TagKeys", awswire.Strings("TagKeys", "member", func(v *untagResourceInput) *[]string { return &v.TagKeys })),
)

// untagResource removes tags of a topic; unknown keys are ignored.
func untagResource(ctx context.Context, c *aws.Call, in *untagResourceInput) (*aws.Nothing, error) {
	keys := slices.Compact(slices.Sorted(slices.Values(in.TagKeys)))
	_, err := c.Submit(ctx, &queue.SetTopicTags{Topic: c.Resource.Topic, Remove: keys})
	return &aws.Nothing{}, err
}
