package sns

import (
	"context"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listSubscriptionsInput struct{ NextToken string }

var listSubscriptionsInputSchema = awswire.Structure(
	awswire.String("NextToken", func(v *listSubscriptionsInput) *string { return &v.NextToken }),
)

// listedSubscription is an element of a list of subscriptions.
type listedSubscription struct {
	SubscriptionARN string
	Owner           string
	Protocol        string
	Endpoint        string
	TopicARN        string
}

// pendingListed replaces the ARN of an unconfirmed subscription in lists (SNS).
const pendingListed = "PendingConfirmation"

// subscriptionsOutput is the output of both lists of subscriptions.
type subscriptionsOutput struct {
	Subscriptions []listedSubscription
	NextToken     string
}

var subscriptionsOutputSchema = awswire.Structure(
	awswire.Within("Subscriptions", awswire.Structures("Subscriptions", "member", awswire.Structure(
		awswire.String("SubscriptionArn", func(v *listedSubscription) *string { return &v.SubscriptionARN }),
		awswire.String("Owner", func(v *listedSubscription) *string { return &v.Owner }),
		awswire.String("Protocol", func(v *listedSubscription) *string { return &v.Protocol }),
		awswire.String("Endpoint", func(v *listedSubscription) *string { return &v.Endpoint }),
		awswire.String("TopicArn", func(v *listedSubscription) *string { return &v.TopicARN }),
	), func(v *subscriptionsOutput) *[]listedSubscription { return &v.Subscriptions })),
	awswire.String("NextToken", func(v *subscriptionsOutput) *string { return &v.NextToken }),
)

// listSubscriptions lists the subscriptions of the caller's account in the order of their creation.
func listSubscriptions(ctx context.Context, c *aws.Call, in *listSubscriptionsInput) (*subscriptionsOutput, error) {
	return readSubscriptions(ctx, c, in.NextToken, func(v queue.View, after uint64, limit int) ([]queue.SubscriptionSummary, *queue.Error) {
		return v.SubscriptionsOf(c.Scope.CallerID(), after, limit), nil
	})
}

// readSubscriptions reads one page of a list of subscriptions.
func readSubscriptions(ctx context.Context, c *aws.Call, token string,
	list func(v queue.View, after uint64, limit int) ([]queue.SubscriptionSummary, *queue.Error),
) (*subscriptionsOutput, error) {
	after, err := readNumberToken(token)
	if err != nil {
		return nil, err
	}
	out := &subscriptionsOutput{}
	err = c.Read(ctx, func(v queue.View) error {
		listed, refused := list(v, after, pageMax+1)
		if refused != nil {
			return refused
		}
		if len(listed) > pageMax {
			listed = listed[:pageMax]
			out.NextToken = service.PageToken(strconv.FormatUint(listed[pageMax-1].Number, 10))
		}
		for _, s := range listed {
			if s.Pending {
				s.SubscriptionARN = pendingListed
			}
			out.Subscriptions = append(out.Subscriptions, listedSubscription{
				SubscriptionARN: s.SubscriptionARN, Owner: s.Owner, Protocol: s.Protocol.String(), Endpoint: s.Endpoint,
				TopicARN: s.TopicARN,
			})
		}
		return nil
	})
	return out, err
}
