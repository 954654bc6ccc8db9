package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

// unsubscribe removes a subscription. That there is none is success.
func unsubscribe(ctx context.Context, c *aws.Call, in *subscriptionOnlyInput) (*aws.Nothing, error) {
	_, err := c.Submit(ctx, &queue.Unsubscribe{SubscriptionARN: in.SubscriptionARN, Signed: c.Signed()})
	return &aws.Nothing{}, err
}
