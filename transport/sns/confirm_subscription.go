package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type confirmSubscriptionInput struct {
	onTopic
	Token                     string
	AuthenticateOnUnsubscribe string
}

var confirmSubscriptionInputSchema = awswire.Structure(
	topicMember(func(v *confirmSubscriptionInput) *onTopic { return &v.onTopic }),
	awswire.String("Token", func(v *confirmSubscriptionInput) *string { return &v.Token }),
	awswire.String("AuthenticateOnUnsubscribe", func(v *confirmSubscriptionInput) *string { return &v.AuthenticateOnUnsubscribe }),
)

// confirmSubscription confirms the subscription of a URL. Those of queues have no token. Only a signed
// request may set AuthenticateOnUnsubscribe (SNS).
func confirmSubscription(ctx context.Context, c *aws.Call, in *confirmSubscriptionInput) (*subscriptionOutput, error) {
	authenticate, ok := attributes.ParseBool(in.AuthenticateOnUnsubscribe)
	if !ok && in.AuthenticateOnUnsubscribe != "" {
		return nil, refusal.SNSInvalid("AuthenticateOnUnsubscribe")
	}
	if authenticate && !c.Signed() {
		return nil, refusal.New(refusal.AuthorizationError, "AuthenticateOnUnsubscribe can be set by signed requests only.")
	}
	cmd := &queue.ConfirmSubscription{
		Topic: c.Resource.Topic, Token: in.Token, Signed: c.Signed(), AuthenticateOnUnsubscribe: authenticate,
	}
	if refused := cmd.Validate(); refused != nil {
		return nil, refused
	}
	// The action needs no permission, so keep invented tokens out of the log.
	if err := c.Search(ctx, func(v queue.View) *queue.Error { return v.RefusesConfirmation(cmd) }); err != nil {
		return nil, err
	}
	done, err := service.Submit[queue.Subscribed](ctx, &c.Call, cmd)
	return &subscriptionOutput{done.SubscriptionARN}, err
}
