package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
)

// getSubscriptionAttributes lists all attributes of a subscription that have a value.
func getSubscriptionAttributes(ctx context.Context, c *aws.Call, in *subscriptionOnlyInput) (*attributesOutput, error) {
	out := &attributesOutput{}
	err := c.Read(ctx, func(v queue.View) error {
		listed, refused := v.SubscriptionAttributes(in.SubscriptionARN)
		if refused != nil {
			return refused
		}
		out.Attributes = attributePairs(listed)
		return nil
	})
	return out, err
}
