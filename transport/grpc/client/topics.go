package client

import (
	"context"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// TopicMessage is a message to publish.
type TopicMessage = seriatimpb.TopicMessage

// PublishResult is the outcome of a published message; Failure is nil if it was accepted.
type PublishResult = seriatimpb.PublishResult

// Subscription is a queue or a URL that a topic delivers to.
type Subscription = seriatimpb.Subscription

// CreateTopic creates a topic, or confirms an equal one, and returns its ARN. A name
// that ends in .fifo needs no attribute FifoTopic.
func (c *Client) CreateTopic(ctx context.Context, name string, attributes, tags map[string]string) (arn string, err error) {
	all := make(map[string]string, len(attributes)+1)
	if isFIFO(name) {
		all["FifoTopic"] = "true"
	}
	maps.Copy(all, attributes)
	in := &seriatimpb.CreateTopicRequest{Topic: name, Attributes: all, Tags: tags}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.CreateTopic, in)
	return out.GetTopicArn(), err
}

// DeleteTopic deletes a topic with its subscriptions. Delivered messages stay in the queues.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	in := &seriatimpb.DeleteTopicRequest{Topic: name}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.DeleteTopic, in)
	return err
}

// Topics lists the names of all topics.
func (c *Client) Topics(ctx context.Context) (names []string, err error) {
	return collect(func(token string) ([]string, string, error) {
		in := &seriatimpb.ListTopicsRequest{PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ListTopics, in)
		return out.GetTopics(), out.GetNextPageToken(), err
	})
}

// TopicAttributes reads attributes and counters.
func (c *Client) TopicAttributes(ctx context.Context, name string) (map[string]string, error) {
	in := &seriatimpb.GetTopicAttributesRequest{Topic: name}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.GetTopicAttributes, in)
	return out.GetAttributes(), err
}

// TagTopic adds tags to a topic, or overwrites them.
func (c *Client) TagTopic(ctx context.Context, name string, tags map[string]string) error {
	in := &seriatimpb.TagTopicRequest{Topic: name, Tags: tags}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.TagTopic, in)
	return err
}

// UntagTopic removes tags from a topic. Unknown keys are no error.
func (c *Client) UntagTopic(ctx context.Context, name string, keys ...string) error {
	in := &seriatimpb.UntagTopicRequest{Topic: name, Keys: keys}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.UntagTopic, in)
	return err
}

// TopicTags reads the tags of a topic.
func (c *Client) TopicTags(ctx context.Context, name string) (map[string]string, error) {
	in := &seriatimpb.ListTopicTagsRequest{Topic: name}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ListTopicTags, in)
	return out.GetTags(), err
}

// SetTopicAttributes changes attributes, all or none.
func (c *Client) SetTopicAttributes(ctx context.Context, name string, attributes map[string]string) error {
	in := &seriatimpb.SetTopicAttributesRequest{Topic: name, Attributes: attributes}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.SetTopicAttributes, in)
	return err
}

// Subscribe subscribes a queue to a topic and returns the ARN of the subscription. An equal
// subscription that exists is no error.
func (c *Client) Subscribe(ctx context.Context, topic, queue string, attributes map[string]string) (arn string, err error) {
	in := &seriatimpb.SubscribeRequest{Topic: topic, Queue: queue, Attributes: attributes}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.Subscribe, in)
	return out.GetSubscriptionArn(), err
}

// SubscribeURL subscribes an http or https URL to a standard topic, and returns the ARN of
// the subscription. If it is pending, the topic posts a token for ConfirmSubscription to the
// URL.
func (c *Client) SubscribeURL(ctx context.Context, topic, url string, attributes map[string]string) (arn string, pending bool, err error) {
	in := &seriatimpb.SubscribeRequest{Topic: topic, Url: url, Attributes: attributes}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.Subscribe, in)
	return out.GetSubscriptionArn(), out.GetPending(), err
}

// ConfirmSubscription confirms the subscription of a URL with the token that was posted to
// it, and returns its ARN. Repeating it is no error.
func (c *Client) ConfirmSubscription(ctx context.Context, topic, token string) (arn string, err error) {
	in := &seriatimpb.ConfirmSubscriptionRequest{Topic: topic, Token: token}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ConfirmSubscription, in)
	return out.GetSubscriptionArn(), err
}

// Unsubscribe removes a subscription.
func (c *Client) Unsubscribe(ctx context.Context, subscriptionARN string) error {
	in := &seriatimpb.UnsubscribeRequest{SubscriptionArn: subscriptionARN}
	_, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.Unsubscribe, in)
	return err
}

// Subscriptions lists the subscriptions of a topic, or all if it is empty.
func (c *Client) Subscriptions(ctx context.Context, topic string) (list []*Subscription, err error) {
	return collect(func(token string) ([]*Subscription, string, error) {
		in := &seriatimpb.ListSubscriptionsRequest{Topic: topic, PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ListSubscriptions, in)
		return out.GetSubscriptions(), out.GetNextPageToken(), err
	})
}

// SubscriptionAttributes reads the attributes of a subscription.
func (c *Client) SubscriptionAttributes(ctx context.Context, subscriptionARN string) (map[string]string, error) {
	in := &seriatimpb.GetSubscriptionAttributesRequest{SubscriptionArn: subscriptionARN}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.GetSubscriptionAttributes, in)
	return out.GetAttributes(), err
}

// SetSubscriptionAttributes changes attributes, all or none.
func (c *Client) SetSubscriptionAttributes(ctx context.Context, subscriptionARN string, attributes map[string]string) error {
	in := &seriatimpb.SetSubscriptionAttributesRequest{SubscriptionArn: subscriptionARN, Attributes: attributes}
	_, err := Call(ctx, c, false, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.SetSubscriptionAttributes, in)
	return err
}

// Publish publishes 1 to 10 messages, all or none. Its results are as those of Send.
func (c *Client) Publish(ctx context.Context, topic string, messages ...*TopicMessage) ([]*PublishResult, error) {
	in := &seriatimpb.PublishRequest{Topic: topic}
	for _, m := range messages {
		in.Messages = append(in.Messages, c.withTopicID(topic, m))
	}
	identified := !slices.ContainsFunc(in.GetMessages(), func(m *TopicMessage) bool { return m.DeduplicationId == nil })
	out, repeated, err := call(ctx, c, isFIFO(topic) && identified, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.Publish, in)
	if repeated {
		for _, r := range out.GetResults() {
			r.Duplicate = nil
		}
	}
	return out.GetResults(), err
}

// withTopicID returns the message with a deduplication id if the topic needs one, a copy if
// it had none.
func (c *Client) withTopicID(topic string, m *TopicMessage) *TopicMessage {
	if m.DeduplicationId != nil || !isFIFO(topic) || c.options.ContentDeduplication {
		return m
	}
	id := newID()
	return &TopicMessage{Message: m.GetMessage(), BodyBytes: m.BodyBytes, Amqp: m.GetAmqp(), Subject: m.Subject,
		Attributes: m.GetAttributes(), GroupId: m.GroupId, DeduplicationId: &id, TraceHeader: m.GetTraceHeader(),
		PartitionKey: m.GetPartitionKey(), EnqueueAtMs: m.GetEnqueueAtMs()}
}

// ScheduledPublish is a message that a topic publishes later.
type ScheduledPublish = seriatimpb.ScheduledPublish

// ScheduledPublishes lists up to 100 messages that a FIFO topic publishes later, from a sequence number
// on. It returns the number to continue from, 0 at the end. EnqueueAtMs of a message in a Publish
// schedules it.
func (c *Client) ScheduledPublishes(ctx context.Context, topic string, from uint64, limit int32) (messages []*ScheduledPublish,
	next uint64, err error) {
	in := &seriatimpb.ListScheduledPublishesRequest{Topic: topic, FromSequenceNumber: from, MaxMessages: limit}
	out, err := Call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.ListScheduledPublishes, in)
	return out.GetMessages(), out.GetNextSequenceNumber(), err
}

// CancelScheduledPublishes is CancelScheduled for a topic.
func (c *Client) CancelScheduledPublishes(ctx context.Context, topic string, forget bool, numbers ...uint64) error {
	in := &seriatimpb.CancelScheduledPublishesRequest{Topic: topic, SequenceNumbers: numbers, ForgetDeduplicationId: forget}
	out, repeated, err := call(ctx, c, true, seriatimpb.NewTopicsClient, seriatimpb.TopicsClient.CancelScheduledPublishes, in)
	return settlementError(out.GetOutcomes(), repeated, err)
}

// NewPublisher returns a publisher for a topic. Close it at the end. The end of ctx fails the
// messages without an answer.
func (c *Client) NewPublisher(ctx context.Context, topic string) *Publisher {
	return newPipeline(ctx, c, streamKind[TopicMessage, PublishResult]{
		fifo: isFIFO(topic), size: func(m *TopicMessage) int {
			return len(m.GetMessage()) + len(m.GetBodyBytes()) + len(m.GetAmqp().GetSections()) + len(m.GetAmqp().GetBody())
		}, failure: (*PublishResult).GetFailure,
		withID: func(m *TopicMessage) *TopicMessage { return c.withTopicID(topic, m) },
		open: func(ctx context.Context, e *endpoint) (frames[TopicMessage, PublishResult], error) {
			stream, err := e.topics.PublishStream(ctx)
			if err == nil {
				err = stream.Send(&seriatimpb.PublishStreamRequest{Topic: topic})
			}
			return frames[TopicMessage, PublishResult]{
				ClientStream: stream,
				send: func(first uint64, messages []*TopicMessage) error {
					return stream.Send(&seriatimpb.PublishStreamRequest{FirstNumber: first, Messages: messages})
				},
				receive: func() ([]*PublishResult, uint32, error) {
					out, err := stream.Recv()
					return out.GetResults(), out.GetUnansweredMax(), err
				},
			}, err
		},
	})
}
