package conformance

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// onTopics runs a test of topics, for which there is only one protocol. Calls to queues use the
// SDK's own.
func onTopics(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	t.Parallel()
	test(t, newClient(shared.cluster, protocolJSON))
}

func topicARN(name string) string {
	return "arn:aws:sns:" + harness.Region + ":" + account + ":" + name
}

// stdTopic creates a standard topic and returns its ARN.
func (c *client) stdTopic(t *testing.T, attributes attrs) string {
	t.Helper()
	return c.createTopic(t, unique(t), attributes)
}

// fifoTopic creates a FIFO topic and returns its ARN.
func (c *client) fifoTopic(t *testing.T, attributes attrs) string {
	t.Helper()
	all := attrs{"FifoTopic": "true"}
	maps.Copy(all, attributes)
	return c.createTopic(t, unique(t)+".fifo", all)
}

func (c *client) createTopic(t *testing.T, name string, attributes attrs) string {
	t.Helper()
	out := must[*sns.CreateTopicOutput](t)(c.tryCreateTopic(t, name, attributes))
	return aws.ToString(out.TopicArn)
}

func (c *client) tryCreateTopic(t *testing.T, name string, attributes attrs, tags ...snstypes.Tag) (*sns.CreateTopicOutput, *refusal) {
	t.Helper()
	return call(t, c.sns.CreateTopic, &sns.CreateTopicInput{Name: &name, Attributes: attributes, Tags: tags}, nil)
}

func (c *client) topicAttributes(t *testing.T, topic string) attrs {
	t.Helper()
	out := must[*sns.GetTopicAttributesOutput](t)(call(t, c.sns.GetTopicAttributes, &sns.GetTopicAttributesInput{TopicArn: &topic}, nil))
	return out.Attributes
}

func (c *client) setTopic(t *testing.T, topic, name, value string) {
	t.Helper()
	if got := c.trySetTopic(t, topic, name, value); got != nil {
		t.Fatalf("set %s: %v", name, got)
	}
}

func (c *client) trySetTopic(t *testing.T, topic, name, value string) *refusal {
	t.Helper()
	_, got := call(t, c.sns.SetTopicAttributes,
		&sns.SetTopicAttributesInput{TopicArn: &topic, AttributeName: &name, AttributeValue: &value}, nil)
	return got
}

func (c *client) deleteTopic(t *testing.T, topic string) {
	t.Helper()
	if _, got := call(t, c.sns.DeleteTopic, &sns.DeleteTopicInput{TopicArn: &topic}, nil); got != nil {
		t.Fatalf("delete topic: %v", got)
	}
}

// raw is a subscription with raw message delivery.
var raw = attrs{"RawMessageDelivery": "true"}

// subscribe subscribes the queue of a URL and returns the ARN of the subscription.
func (c *client) subscribe(t *testing.T, topic, queue string, attributes attrs) string {
	t.Helper()
	out := must[*sns.SubscribeOutput](t)(c.trySubscribe(t, topic, "sqs", arn(queue), attributes))
	return aws.ToString(out.SubscriptionArn)
}

func (c *client) trySubscribe(t *testing.T, topic, protocol, endpoint string, attributes attrs) (*sns.SubscribeOutput, *refusal) {
	t.Helper()
	return call(t, c.sns.Subscribe, &sns.SubscribeInput{TopicArn: &topic, Protocol: &protocol, Endpoint: &endpoint, Attributes: attributes},
		nil)
}

func (c *client) subscriptionAttributes(t *testing.T, subscription string) attrs {
	t.Helper()
	in := &sns.GetSubscriptionAttributesInput{SubscriptionArn: &subscription}
	return must[*sns.GetSubscriptionAttributesOutput](t)(call(t, c.sns.GetSubscriptionAttributes, in, nil)).Attributes
}

func (c *client) setSubscription(t *testing.T, subscription, name, value string) {
	t.Helper()
	if got := c.trySetSubscription(t, subscription, name, value); got != nil {
		t.Fatalf("set %s: %v", name, got)
	}
}

func (c *client) trySetSubscription(t *testing.T, subscription, name, value string) *refusal {
	t.Helper()
	in := &sns.SetSubscriptionAttributesInput{SubscriptionArn: &subscription, AttributeName: &name, AttributeValue: &value}
	_, got := call(t, c.sns.SetSubscriptionAttributes, in, nil)
	return got
}

func (c *client) unsubscribe(t *testing.T, subscription string) {
	t.Helper()
	if got := c.tryUnsubscribe(t, subscription); got != nil {
		t.Fatalf("unsubscribe: %v", got)
	}
}

func (c *client) tryUnsubscribe(t *testing.T, subscription string) *refusal {
	t.Helper()
	_, got := call(t, c.sns.Unsubscribe, &sns.UnsubscribeInput{SubscriptionArn: &subscription}, nil)
	return got
}

// publishing changes a publish.
type publishing func(*sns.PublishInput)

func toGroup(id string) publishing {
	return func(in *sns.PublishInput) { in.MessageGroupId = &id }
}

func withID(id string) publishing {
	return func(in *sns.PublishInput) { in.MessageDeduplicationId = &id }
}

func subject(text string) publishing {
	return func(in *sns.PublishInput) { in.Subject = &text }
}

func structured(in *sns.PublishInput) { in.MessageStructure = aws.String("json") }

// topicText adds a message attribute with a string value.
func topicText(name, dataType, value string) publishing {
	return topicAttribute(name, snstypes.MessageAttributeValue{DataType: &dataType, StringValue: &value})
}

func topicBinary(name, dataType string, value []byte) publishing {
	return topicAttribute(name, snstypes.MessageAttributeValue{DataType: &dataType, BinaryValue: value})
}

func topicAttribute(name string, value snstypes.MessageAttributeValue) publishing {
	return func(in *sns.PublishInput) {
		if in.MessageAttributes == nil {
			in.MessageAttributes = map[string]snstypes.MessageAttributeValue{}
		}
		in.MessageAttributes[name] = value
	}
}

func (c *client) publish(t *testing.T, topic, message string, options ...publishing) *sns.PublishOutput {
	t.Helper()
	return must[*sns.PublishOutput](t)(c.tryPublish(t, topic, message, options...))
}

func (c *client) tryPublish(t *testing.T, topic, message string, options ...publishing) (*sns.PublishOutput, *refusal) {
	t.Helper()
	in := &sns.PublishInput{TopicArn: &topic, Message: &message}
	for _, o := range options {
		o(in)
	}
	return call(t, c.sns.Publish, in, nil)
}

// publication is one entry of a PublishBatch.
func publication(id, message string, options ...publishing) snstypes.PublishBatchRequestEntry {
	in := &sns.PublishInput{Message: &message}
	for _, o := range options {
		o(in)
	}
	return snstypes.PublishBatchRequestEntry{
		Id: &id, Message: in.Message, Subject: in.Subject, MessageStructure: in.MessageStructure, MessageAttributes: in.MessageAttributes,
		MessageGroupId: in.MessageGroupId, MessageDeduplicationId: in.MessageDeduplicationId,
	}
}

func (c *client) publishBatch(t *testing.T, topic string, entries ...snstypes.PublishBatchRequestEntry) *sns.PublishBatchOutput {
	t.Helper()
	return must[*sns.PublishBatchOutput](t)(c.tryPublishBatch(t, topic, entries...))
}

func (c *client) tryPublishBatch(t *testing.T, topic string, entries ...snstypes.PublishBatchRequestEntry) (*sns.PublishBatchOutput,
	*refusal) {
	t.Helper()
	return call(t, c.sns.PublishBatch, &sns.PublishBatchInput{TopicArn: &topic, PublishBatchRequestEntries: entries}, nil)
}

// envelope is the body of a message without raw message delivery.
type envelope struct {
	Type, MessageID, SequenceNumber, TopicArn, Subject, Message, Timestamp, UnsubscribeURL string

	MessageAttributes map[string]struct{ Type, Value string }
	Replayed          bool
}

// envelopeOf reads the body of a message as an envelope.
func envelopeOf(t *testing.T, m types.Message) (e envelope) {
	t.Helper()
	if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &e); err != nil {
		t.Fatalf("the body %q is no envelope: %v", aws.ToString(m.Body), err)
	}
	return e
}
