package sns

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type listSubscriptionsByTopicInput struct {
	onTopic
	NextToken string
}

var listSubscriptionsByTopicInputSchema = awswire.Structure(
	topicMember(func(v *listSubscriptionsByTopicInput) *onTopic { return &v.onTopic }),
	awswire.String("NextToken", func(v *listSubscriptionsByTopicInput) *string { return &v.NextToken }),
)

// listSubscriptionsByTopic lists the subscriptions of a topic in the order of their creation.
func listSubscriptionsByTopic(ctx context.Context, c *aws.Call, in *listSubscriptionsByTopicInput) (*subscriptionsOutput, error) {
	return readSubscriptions(ctx, c, in.NextToken, func(v queue.View, after uint64, limit int) ([]queue.SubscriptionSummary, *queue.Error) {
		return v.ListSubscriptionsByTopic(c.Resource.Topic, after, limit)
	})
}
