package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type addPermissionInput struct {
	onTopic
	Label      string
	AccountIDs []string
	Actions    []string
}

var addPermissionInputSchema = awswire.Structure(
	topicMember(func(v *addPermissionInput) *onTopic { return &v.onTopic }),
	awswire.String("Label", func(v *addPermissionInput) *string { return &v.Label }),
	awswire.Within("AWSAccountId", awswire.Strings("AWSAccountId", "member",
		func(v *addPermissionInput) *[]string { return &v.AccountIDs })),
	awswire.Within("ActionName", awswire.Strings("ActionName", "member", func(v *addPermissionInput) *[]string { return &v.Actions })),
)

func addPermission(ctx context.Context, c *aws.Call, in *addPermissionInput) (*aws.Nothing, error) {
	if in.Label == "" {
		return nil, missing("Label")
	}
	_, err := c.Submit(ctx, &queue.SetTopicPolicy{
		Topic: c.Resource.Topic, Label: in.Label, AccountIDs: in.AccountIDs, Actions: in.Actions,
	})
	return &aws.Nothing{}, err
}
