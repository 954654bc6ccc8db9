package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/service"
)

// getSubscriptionAttributes lists all attributes of a subscription that have a value.
func getSubscriptionAttributes(ctx context.Context, c *aws.Call, in *subscriptionOnlyInput) (*attributesOutput, error) {
	listed, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Attribute, *queue.Error) {
		return v.SubscriptionAttributes(in.SubscriptionARN)
	})
	return &attributesOutput{attributePairs(listed)}, err
}
