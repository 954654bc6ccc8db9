package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

// byUnsubscribeURL is for subscribers on the web, who follow the link in what they get. It
// holds the ARN of the subscription, which nobody can guess, as on SNS.
func byUnsubscribeURL(v queue.View, input any) bool {
	return v.UnsubscribesByLink(input.(*subscriptionOnlyInput).SubscriptionARN)
}

// unsubscribe removes a subscription. That there is none is success.
func unsubscribe(ctx context.Context, c *aws.Call, in *subscriptionOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.Unsubscribe{SubscriptionARN: in.SubscriptionARN, Signed: c.Signed()})
	return &aws.Nothing{}, err
}
