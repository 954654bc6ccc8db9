package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
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

// confirmSubscription knows no token: subscriptions of queues are confirmed at once, and
// there are no others.
func confirmSubscription(context.Context, *aws.Call, *confirmSubscriptionInput) (*subscriptionOutput, error) {
	return nil, refusal.SNSInvalid("Token")
}
