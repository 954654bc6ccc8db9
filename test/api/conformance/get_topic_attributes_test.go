package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestGetTopicAttributesCounters(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		c.unsubscribe(t, c.subscribe(t, topic, c.fifo(t, nil), nil))
		c.subscribe(t, topic, c.fifo(t, nil), nil)
		got := c.topicAttributes(t, topic)
		if got["SubscriptionsConfirmed"] != "1" || got["SubscriptionsDeleted"] != "1" || got["SubscriptionsPending"] != "0" {
			t.Errorf("attributes %v", got)
		}
	})
}

// TestTopicARNs: what is no topic is refused alike by all actions on one.
func TestTopicARNs(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		get := func(t *testing.T, topic *string) *refusal {
			t.Helper()
			_, got := call(t, c.sns.GetTopicAttributes, &sns.GetTopicAttributesInput{TopicArn: topic}, nil)
			return got
		}
		unknown := topicARN(unique(t))
		t.Run("unknown", func(t *testing.T) {
			refused(t, get(t, &unknown), "NotFound", "Topic does not exist")
			refused(t, c.trySetTopic(t, unknown, "DisplayName", "A"), "NotFound", "Topic does not exist")
			_, got := c.trySubscribe(t, unknown, "sqs", arn(c.std(t, nil)), nil)
			refused(t, got, "NotFound", "Topic does not exist")
			_, got = c.tryPublish(t, unknown, "m")
			refused(t, got, "NotFound", "Topic does not exist")
			_, got = c.tryPublishBatch(t, unknown, publication("a", "m"))
			refused(t, got, "NotFound", "Topic does not exist")
			_, got = call(t, c.sns.ListSubscriptionsByTopic, &sns.ListSubscriptionsByTopicInput{TopicArn: &unknown}, nil)
			refused(t, got, "NotFound", "Topic does not exist")
		})
		t.Run("malformed", func(t *testing.T) {
			const text = "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not "
			refused(t, get(t, aws.String("test-topic")), invalid, text+"1")
			refused(t, get(t, aws.String("arn:aws:sns:us-east-1")), invalid, text+"4")
			_, got := c.tryPublish(t, "test-topic", "m")
			refused(t, got, invalid, text+"1")
			_, got = call(t, c.sns.DeleteTopic, &sns.DeleteTopicInput{TopicArn: aws.String("a:b")}, nil)
			refused(t, got, invalid, text+"2")
		})
		t.Run("of something else", func(t *testing.T) {
			refused(t, get(t, aws.String(arn(c.std(t, nil)))), invalid, "Invalid parameter: TopicArn")
			refused(t, get(t, aws.String(unknown+":x")), invalid, "Invalid parameter: TopicArn")
		})
		t.Run("missing", func(t *testing.T) {
			refused(t, get(t, nil), invalid, "Invalid parameter: TopicArn Reason: no value for required parameter")
			_, got := call(t, c.sns.Publish, &sns.PublishInput{Message: aws.String("m")}, nil)
			refused(t, got, invalid, "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter")
		})
	})
}
