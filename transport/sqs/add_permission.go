package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type addPermissionInput struct {
	QueueURL   awswire.Text
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

// addPermission adds a statement to the access policy of a queue.
func (s *Service) addPermission(ctx context.Context, c *call, in *addPermissionInput) (*nothing, error) {
	name, err := c.queueName(in.QueueURL)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Label == "":
		return nil, missingParameter("Label")
	case in.AccountIDs == nil:
		return nil, missingParameter("AWSAccountIds")
	case len(in.Actions) == 0:
		return nil, missingParameter("Actions")
	case len(in.AccountIDs) == 0:
		// The model calls the list required but does not say how many; no
		// answer of AWS is on record. Other servers agree on this one, in
		// which PrincipalId is what AWS calls an account it cannot verify.
		return nil, s.refuse(ctx, c, name, invalidParameter("Value [] for parameter PrincipalId is invalid. Reason: Unable to verify."))
	}
	_, err = s.submit(ctx, c, &queue.SetQueuePolicy{
		Queue: name, QueueARN: s.arn(name), Label: in.Label, AccountIDs: in.AccountIDs, Actions: in.Actions,
	})
	return &nothing{}, err
}
