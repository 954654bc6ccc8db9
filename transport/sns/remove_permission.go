package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type removePermissionInput struct {
	onTopic
	Label string
}

var removePermissionInputSchema = awswire.Structure(
	topicMember(func(v *removePermissionInput) *onTopic { return &v.onTopic }),
	awswire.String("Label", func(v *removePermissionInput) *string { return &v.Label }),
)

func removePermission(ctx context.Context, c *aws.Call, in *removePermissionInput) (*aws.Nothing, error) {
	if in.Label == "" {
		return nil, missing("Label")
	}
	_, err := c.Submit(ctx, &queue.SetTopicPolicy{Topic: c.Resource.Topic, Label: in.Label, Remove: true})
	return &aws.Nothing{}, err
}
