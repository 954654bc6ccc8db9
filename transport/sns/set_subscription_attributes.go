package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type setSubscriptionAttributesInput struct {
	onSubscription
	single
}

var setSubscriptionAttributesInputSchema = awswire.Structure(append([]awswire.Member[setSubscriptionAttributesInput]{
	subscriptionMember(func(v *setSubscriptionAttributesInput) *onSubscription { return &v.onSubscription }),
}, singleMembers(func(v *setSubscriptionAttributesInput) *single { return &v.single })...)...)

func subscriptionNeeds(c *aws.Call, input any) ([]service.Need, error) {
	in := input.(*setSubscriptionAttributesInput)
	given, err := in.domain()
	if err != nil {
		return nil, err
	}
	return service.SubscriptionNeeds(c.Context(), c.Read, c.Resource.Topic, in.SubscriptionARN, given)
}

// setSubscriptionAttributes changes one attribute of a subscription.
func setSubscriptionAttributes(ctx context.Context, c *aws.Call, in *setSubscriptionAttributesInput) (*aws.Nothing, error) {
	attributes, err := in.domain()
	if err != nil {
		return nil, err
	}
	if refused := c.Names().CheckDeadLetter(attributes); refused != nil {
		return nil, refused
	}
	_, err = c.Submit(ctx, &queue.SetSubscriptionAttributes{SubscriptionARN: in.SubscriptionARN, Attributes: attributes})
	return &aws.Nothing{}, err
}
