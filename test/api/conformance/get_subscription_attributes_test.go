package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestSubscriptionUnknown(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		for _, unknown := range []string{topic + ":0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b", topicARN(unique(t)) + ":x"} {
			_, got := call(t, c.sns.GetSubscriptionAttributes, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &unknown}, nil)
			refused(t, got, "NotFound", "Subscription does not exist")
			refused(t, c.trySetSubscription(t, unknown, "RawMessageDelivery", "true"), "NotFound", "Subscription does not exist")
		}
		_, got := call(t, c.sns.GetSubscriptionAttributes, &sns.GetSubscriptionAttributesInput{}, nil)
		refused(t, got, invalid, "Invalid parameter: SubscriptionArn Reason: no value for required parameter")
		_, got = call(t, c.sns.GetSubscriptionAttributes, &sns.GetSubscriptionAttributesInput{SubscriptionArn: aws.String("x")}, nil)
		refused(t, got, invalid, "Invalid parameter: SubscriptionArn Reason: An ARN must have at least 6 elements, not 1")
	})
}
