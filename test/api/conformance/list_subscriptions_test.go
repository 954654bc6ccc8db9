package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestListSubscriptionsPages makes 120 subscriptions, beside those of other tests.
func TestListSubscriptionsPages(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		missing := map[string]bool{}
		endpoint := "arn:aws:sqs:" + harness.Region + ":" + account + ":" + unique(t)
		for range 2 {
			topic := c.fifoTopic(t, nil)
			for i := range 60 {
				out := must[*sns.SubscribeOutput](t)(c.trySubscribe(t, topic, "sqs", fmt.Sprint(endpoint, i), nil))
				missing[aws.ToString(out.SubscriptionArn)] = true
			}
		}
		seen := map[string]bool{}
		var token *string
		for page := 0; ; page++ {
			out := must[*sns.ListSubscriptionsOutput](t)(call(t, c.sns.ListSubscriptions, &sns.ListSubscriptionsInput{NextToken: token},
				nil))
			for _, s := range out.Subscriptions {
				listed := aws.ToString(s.SubscriptionArn)
				// Unconfirmed subscriptions of other tests all have the same text in place of an
				// ARN.
				which := aws.ToString(s.TopicArn) + " " + aws.ToString(s.Endpoint)
				if seen[which] {
					t.Errorf("%s, %s twice", listed, which)
				}
				seen[which] = true
				delete(missing, listed)
			}
			if token = out.NextToken; token == nil {
				break
			}
			if len(out.Subscriptions) != 100 {
				t.Errorf("page %d has %d subscriptions", page, len(out.Subscriptions))
			}
		}
		if len(missing) != 0 {
			t.Errorf("not listed: %v", missing)
		}
	})
}
