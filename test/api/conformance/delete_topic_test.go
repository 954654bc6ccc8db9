package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestDeleteTopicUnknown(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		c.deleteTopic(t, topic)
		c.deleteTopic(t, topic)
		c.deleteTopic(t, topicARN(unique(t)))
	})
}

// TestDeleteTopicForgets checks that a topic created again remembers nothing, and that delivered
// messages stay.
func TestDeleteTopicForgets(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, attrs{"DeduplicationEnabled": "false"})
		name := topic[strings.LastIndex(topic, ":")+1:]
		subscription := c.subscribe(t, topic, queue, raw)
		if _, got := call(t, c.sns.TagResource, tagging(topic, "a", "1"), nil); got != nil {
			t.Fatal(got)
		}
		c.publish(t, topic, "first", toGroup("g"), withID("x"))
		c.deleteTopic(t, topic)
		_, got := c.tryPublish(t, topic, "lost", toGroup("g"), withID("y"))
		refused(t, got, "NotFound", "Topic does not exist")
		if _, got := call(t, c.sns.GetSubscriptionAttributes, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &subscription},
			nil); got == nil {
			t.Error("the subscription is there without its topic")
		}
		c.createTopic(t, name, attrs{"FifoTopic": "true"})
		if tags := c.topicTags(t, topic); len(tags) != 0 {
			t.Errorf("tags %v", tags)
		}
		c.publish(t, topic, "to nobody", toGroup("g"), withID("z"))
		c.subscribe(t, topic, queue, raw)
		c.publish(t, topic, "second", toGroup("g"), withID("x"))
		c.expect(t, queue, "first", "second")
	})
}

func TestDeleteTopicWithArchive(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, attrs{"ArchivePolicy": `{"MessageRetentionPeriod":"30"}`})
		_, got := call(t, c.sns.DeleteTopic, &sns.DeleteTopicInput{TopicArn: &topic}, nil)
		refused(t, got, "InvalidState", "Invalid state: Cannot delete a topic with an ArchivePolicy")
		c.setTopic(t, topic, "ArchivePolicy", "{}")
		c.deleteTopic(t, topic)
		_, got = call(t, c.sns.GetTopicAttributes, &sns.GetTopicAttributesInput{TopicArn: &topic}, nil)
		refused(t, got, "NotFound", "Topic does not exist")
	})
}
