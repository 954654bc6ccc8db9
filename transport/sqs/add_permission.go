package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type addPermissionInput struct {
	onQueue
	Label      string
	AccountIDs []string
	Actions    []string
}

var addPermissionInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *addPermissionInput) *awswire.Text { return &v.QueueURL }),
	awswire.String("Label", func(v *addPermissionInput) *string { return &v.Label }),
	awswire.Strings("AWSAccountIds", "AWSAccountId", func(v *addPermissionInput) *[]string { return &v.AccountIDs }),
	awswire.Strings("Actions", "ActionName", func(v *addPermissionInput) *[]string { return &v.Actions }),
)

func (s *Service) addPermission(ctx context.Context, c *aws.Call, in *addPermissionInput) (*aws.Nothing, error) {
	switch {
	case in.Label == "":
		return nil, refusal.MissingParameter("Label")
	case in.AccountIDs == nil:
		return nil, refusal.MissingParameter("AWSAccountIds")
	case len(in.Actions) == 0:
		return nil, refusal.MissingParameter("Actions")
	case len(in.AccountIDs) == 0:
		// No answer of AWS to an empty list is on record. Other servers agree on this one, the
		// error of AWS for an account that it cannot verify.
		return nil, refuse(ctx, c, refusal.InvalidValue("[]", "PrincipalId", "Unable to verify."))
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{
		Queue: c.Resource.Name, QueueARN: c.ResourceARN(), Label: in.Label, AccountIDs: in.AccountIDs, Actions: in.Actions,
	})
	return &aws.Nothing{}, err
}
