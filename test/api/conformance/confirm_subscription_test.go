package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestConfirmSubscription(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		_, got := call(t, c.sns.ConfirmSubscription, &sns.ConfirmSubscriptionInput{TopicArn: &topic, Token: aws.String("x")}, nil)
		refused(t, got, invalid, "Invalid token")
	})
}
