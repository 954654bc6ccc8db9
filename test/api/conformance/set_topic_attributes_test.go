package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestSetTopicAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		fifo, standard := c.fifoTopic(t, nil), c.stdTopic(t, nil)
		for _, test := range []struct{ name, value string }{
			{"DisplayName", "B"},
			{"DisplayName", ""},
			{"ContentBasedDeduplication", "true"},
			{"ContentBasedDeduplication", "false"},
			{"FifoThroughputScope", "MessageGroup"},
			{"DeduplicationWindowSeconds", "20"},
			{"KmsMasterKeyId", "k"},
			{"TracingConfig", "PassThrough"},
			{"HTTPSuccessFeedbackSampleRate", "0"},
			{"LambdaSuccessFeedbackRoleArn", "arn:aws:iam::000000000000:role/log"},
			{"SQSFailureFeedbackRoleArn", "arn:aws:iam::000000000000:role/log"},
			{"DeliveryPolicy", `{"http":{"defaultHealthyRetryPolicy":{"numRetries":5}}}`},
		} {
			c.setTopic(t, fifo, test.name, test.value)
			if got := c.topicAttributes(t, fifo)[test.name]; got != test.value {
				t.Errorf("%s is %q, want %q", test.name, got, test.value)
			}
		}
		c.setTopic(t, standard, "TracingConfig", "Active")
		for _, test := range []struct{ topic, name, value, text string }{
			{standard, "ContentBasedDeduplication", "true", "AttributeName"},
			{standard, "FifoThroughputScope", "Topic", "AttributeName"},
			{fifo, "Foo", "1", "AttributeName"},
			{fifo, "TopicArn", fifo, "AttributeName"},
			{fifo, "BeginningArchiveTime", "1", "AttributeName"},
			{fifo, "DataProtectionPolicy", "{}", "AttributeName"},
			{fifo, "ContentBasedDeduplication", "maybe", "ContentBasedDeduplication: Invalid value [maybe]. Must be true or false."},
			{fifo, "FifoThroughputScope", "Topic",
				"FifoThroughputScope: Invalid value [Topic]. Cannot be changed from MessageGroup to Topic."},
			{fifo, "SQSSuccessFeedbackSampleRate", "101", "SQSSuccessFeedbackSampleRate: Invalid value [101]. Must be between 0 and 100."},
			{fifo, "Policy", "", "Policy Error: null"},
			{fifo, "ArchivePolicy", "[]", "ArchivePolicy: Unable to parse JSON"},
			{fifo, "ArchivePolicy", `{"a":"b"}`, "ArchivePolicy: JSON is missing required fields"},
			{fifo, "ArchivePolicy", `{"MessageRetentionPeriod":"366"}`, "ArchivePolicy: MessageRetentionPeriod value is invalid"},
		} {
			refused(t, c.trySetTopic(t, test.topic, test.name, test.value), invalid, "Invalid parameter: "+test.text)
		}
		_, got := call(t, c.sns.SetTopicAttributes, &sns.SetTopicAttributesInput{TopicArn: &fifo}, nil)
		refused(t, got, invalid, "Invalid parameter: AttributeName Reason: no value for required parameter")
	})
}

func TestSetTopicAttributesFixed(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		for _, topic := range []string{c.fifoTopic(t, nil), c.stdTopic(t, nil)} {
			for _, value := range []string{"true", "false"} {
				refused(t, c.trySetTopic(t, topic, "FifoTopic", value), invalid, "Invalid parameter: AttributeName")
			}
		}
	})
}
