package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

// byUnsubscribeURL permits the link in the notifications of web subscribers. It holds the ARN of the
// subscription, which cannot be guessed, as on SNS.
func byUnsubscribeURL(v queue.View, input any) bool {
	return v.UnsubscribesByLink(input.(*subscriptionOnlyInput).SubscriptionARN)
}

// unsubscribe removes a subscription. An unknown subscription is no error.
func unsubscribe(ctx context.Context, c *aws.Call, in *subscriptionOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.Unsubscribe{SubscriptionARN: in.SubscriptionARN, Signed: c.Signed()})
	return &aws.Nothing{}, err
}
