package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestListSubscriptionsByTopic(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		var want []snstypes.Subscription
		for range 3 {
			endpoint := arn(c.fifo(t, nil))
			out := must[*sns.SubscribeOutput](t)(c.trySubscribe(t, topic, "sqs", endpoint, nil))
			want = append(want, snstypes.Subscription{
				SubscriptionArn: out.SubscriptionArn, Owner: aws.String(account), Protocol: aws.String("sqs"), Endpoint: &endpoint,
				TopicArn: &topic,
			})
		}
		in := &sns.ListSubscriptionsByTopicInput{TopicArn: &topic}
		out := must[*sns.ListSubscriptionsByTopicOutput](t)(call(t, c.sns.ListSubscriptionsByTopic, in, nil))
		if diff := cmp.Diff(want, out.Subscriptions, cmpopts.IgnoreUnexported(snstypes.Subscription{})); diff != "" ||
			out.NextToken != nil {
			t.Errorf("subscriptions (-want +got):\n%s", diff)
		}
		in.NextToken = aws.String("x")
		_, got := call(t, c.sns.ListSubscriptionsByTopic, in, nil)
		refused(t, got, invalid, "Invalid parameter: NextToken")
	})
}
