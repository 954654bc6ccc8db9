package client

import (
	"context"
	"maps"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// TopicMessage is a message to publish. Its fields are as in the proto.
type TopicMessage = seriatimpb.TopicMessage

// PublishResult is the outcome of a message that was published.
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
	err = c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		out, err := t.CreateTopic(ctx, in, o...)
		arn = out.GetTopicArn()
		return err
	})
	return arn, err
}

// DeleteTopic deletes a topic with its subscriptions. What was delivered stays in the
// queues.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	return c.CallTopics(ctx, false, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		_, err := t.DeleteTopic(ctx, &seriatimpb.DeleteTopicRequest{Topic: name}, o...)
		return err
	})
}

// Topics lists the names of all topics.
func (c *Client) Topics(ctx context.Context) (names []string, err error) {
	for in := (&seriatimpb.ListTopicsRequest{}); ; {
		err := c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
			out, err := t.ListTopics(ctx, in, o...)
			names, in = append(names, out.GetTopics()...), &seriatimpb.ListTopicsRequest{PageToken: out.GetNextPageToken()}
			return err
		})
		if err != nil || in.GetPageToken() == "" {
			return names, err
		}
	}
}

// TopicAttributes reads attributes and counters.
func (c *Client) TopicAttributes(ctx context.Context, name string) (map[string]string, error) {
	var out *seriatimpb.GetTopicAttributesResponse
	err := c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) (err error) {
		out, err = t.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: name}, o...)
		return err
	})
	return out.GetAttributes(), err
}

// TopicTags reads the tags of a topic.
func (c *Client) TopicTags(ctx context.Context, name string) (map[string]string, error) {
	var out *seriatimpb.ListTopicTagsResponse
	err := c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) (err error) {
		out, err = t.ListTopicTags(ctx, &seriatimpb.ListTopicTagsRequest{Topic: name}, o...)
		return err
	})
	return out.GetTags(), err
}

// SetTopicAttributes changes attributes, all or none.
func (c *Client) SetTopicAttributes(ctx context.Context, name string, attributes map[string]string) error {
	return c.CallTopics(ctx, false, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		_, err := t.SetTopicAttributes(ctx, &seriatimpb.SetTopicAttributesRequest{Topic: name, Attributes: attributes}, o...)
		return err
	})
}

// Subscribe subscribes a queue to a topic, or confirms that it is, with equal
// attributes, and returns the ARN of the subscription.
func (c *Client) Subscribe(ctx context.Context, topic, queue string, attributes map[string]string) (arn string, err error) {
	in := &seriatimpb.SubscribeRequest{Topic: topic, Queue: queue, Attributes: attributes}
	err = c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		out, err := t.Subscribe(ctx, in, o...)
		arn = out.GetSubscriptionArn()
		return err
	})
	return arn, err
}

// SubscribeURL subscribes an http or https URL to a standard topic, or confirms that it
// is, and returns the ARN of the subscription and whether it has still to be confirmed:
// the URL is posted a token for ConfirmSubscription.
func (c *Client) SubscribeURL(ctx context.Context, topic, url string, attributes map[string]string) (arn string, pending bool, err error) {
	in := &seriatimpb.SubscribeRequest{Topic: topic, Url: url, Attributes: attributes}
	err = c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		out, err := t.Subscribe(ctx, in, o...)
		arn, pending = out.GetSubscriptionArn(), out.GetPending()
		return err
	})
	return arn, pending, err
}

// ConfirmSubscription confirms the subscription of a URL with the token that was posted to
// it, and returns its ARN. A token may be used twice.
func (c *Client) ConfirmSubscription(ctx context.Context, topic, token string) (arn string, err error) {
	in := &seriatimpb.ConfirmSubscriptionRequest{Topic: topic, Token: token}
	err = c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		out, err := t.ConfirmSubscription(ctx, in, o...)
		arn = out.GetSubscriptionArn()
		return err
	})
	return arn, err
}

// Unsubscribe removes a subscription. Its ARN is never used again, so that doing it
// twice is the same as once.
func (c *Client) Unsubscribe(ctx context.Context, subscriptionARN string) error {
	return c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		_, err := t.Unsubscribe(ctx, &seriatimpb.UnsubscribeRequest{SubscriptionArn: subscriptionARN}, o...)
		return err
	})
}

// Subscriptions lists the subscriptions of a topic, or all if it is empty.
func (c *Client) Subscriptions(ctx context.Context, topic string) (list []*Subscription, err error) {
	for in := (&seriatimpb.ListSubscriptionsRequest{Topic: topic}); ; {
		err := c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
			out, err := t.ListSubscriptions(ctx, in, o...)
			list = append(list, out.GetSubscriptions()...)
			in = &seriatimpb.ListSubscriptionsRequest{Topic: topic, PageToken: out.GetNextPageToken()}
			return err
		})
		if err != nil || in.GetPageToken() == "" {
			return list, err
		}
	}
}

// SubscriptionAttributes reads the attributes of a subscription.
func (c *Client) SubscriptionAttributes(ctx context.Context, subscriptionARN string) (map[string]string, error) {
	var out *seriatimpb.GetSubscriptionAttributesResponse
	err := c.CallTopics(ctx, true, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) (err error) {
		out, err = t.GetSubscriptionAttributes(ctx, &seriatimpb.GetSubscriptionAttributesRequest{SubscriptionArn: subscriptionARN}, o...)
		return err
	})
	return out.GetAttributes(), err
}

// SetSubscriptionAttributes changes attributes, all or none.
func (c *Client) SetSubscriptionAttributes(ctx context.Context, subscriptionARN string, attributes map[string]string) error {
	in := &seriatimpb.SetSubscriptionAttributesRequest{SubscriptionArn: subscriptionARN, Attributes: attributes}
	return c.CallTopics(ctx, false, func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) error {
		_, err := t.SetSubscriptionAttributes(ctx, in, o...)
		return err
	})
}

// Publish publishes 1 to 10 messages, all or none.
func (c *Client) Publish(ctx context.Context, topic string, messages ...*TopicMessage) ([]*PublishResult, error) {
	in := &seriatimpb.PublishRequest{Topic: topic}
	for _, m := range messages {
		in.Messages = append(in.Messages, c.withTopicID(topic, m))
	}
	var out *seriatimpb.PublishResponse
	err := c.CallTopics(ctx, isFIFO(topic), func(ctx context.Context, t seriatimpb.TopicsClient, o ...grpc.CallOption) (err error) {
		out, err = t.Publish(ctx, in, o...)
		return err
	})
	return out.GetResults(), err
}

// withTopicID is a message with a deduplication id if the topic needs one; the
// caller's stays as it is.
func (c *Client) withTopicID(topic string, m *TopicMessage) *TopicMessage {
	if m.DeduplicationId != nil || !isFIFO(topic) || c.options.ContentDeduplication {
		return m
	}
	id := newID()
	return &TopicMessage{Message: m.GetMessage(), Subject: m.Subject, Attributes: m.GetAttributes(), GroupId: m.GroupId, DeduplicationId: &id}
}

// NewPublisher makes a publisher for a topic. It must be closed; the end of ctx
// fails what is not answered.
func (c *Client) NewPublisher(ctx context.Context, topic string) *Publisher {
	return newPipeline(ctx, c, streamKind[TopicMessage, PublishResult]{
		fifo: isFIFO(topic), size: func(m *TopicMessage) int { return len(m.GetMessage()) }, failure: (*PublishResult).GetFailure,
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
