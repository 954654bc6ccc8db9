package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type tagResourceInput struct {
	onResource
	Tags []tag
}

var tagResourceInputSchema = awswire.Structure(
	resourceMember(func(v *tagResourceInput) *onResource { return &v.onResource }),
	tagsMember(func(v *tagResourceInput) *[]tag { return &v.Tags }),
)

// tagResource adds tags to a topic or overwrites them.
func tagResource(ctx context.Context, c *aws.Call, in *tagResourceInput) (*aws.Nothing, error) {
	tags, err := domainTags(in.Tags)
	if err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, &queue.SetTopicTags{Topic: c.Resource.Topic, Set: tags})
	return &aws.Nothing{}, err
}
