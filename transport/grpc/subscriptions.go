package grpc

import (
	"context"
	"net/url"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// onSubscription says which subscription the call is about.
func (c *call) onSubscription(text string) error {
	if text == "" {
		return refusal.MissingParameter("subscription_arn")
	}
	name, _, _ := arn.Subscription(text)
	if name != "" && c.Scope.Elsewhere(text) {
		return refusal.SNSInvalid("subscription_arn Reason: it is of another region")
	}
	c.Record.Topic = c.Scope.Of(arn.AccountOf(text), name[:min(len(name), limits.TopicNameLengthMax)])
	return c.permit(service.Resource{Topic: c.Record.Topic})
}

// Subscribe subscribes a queue or a URL to a topic, or confirms that it is.
func (t *topics) Subscribe(ctx context.Context, in *seriatimpb.SubscribeRequest) (*seriatimpb.SubscribeResponse, error) {
	c := callOf(ctx)
	if err := c.onTopic(in.GetTopic()); err != nil {
		return nil, err
	}
	names := t.server.Names
	cmd := &queue.Subscribe{Topic: c.topic, Attributes: queueAttributes(in.GetAttributes())}
	if refused := names.CheckDeadLetter(cmd.Attributes); refused != nil {
		return nil, refused
	}
	cmd.Owner, cmd.Principal = c.Scope.Subscriber(c.in.identity, c.topic)
	switch {
	case in.GetQueue() == "" && in.GetUrl() == "":
		return nil, refusal.MissingParameter("queue")
	case in.GetQueue() != "" && in.GetUrl() != "":
		return nil, refusal.SNSInvalid("a subscription is of a queue or of a URL, not of both")
	case in.GetQueue() != "":
		subscribed := c.qualify(in.GetQueue())
		c.Record.Queue = subscribed[:min(len(subscribed), limits.QueueNameLengthMax)]
		if cmd.Endpoint = names.QueueARN(subscribed); account.OwnerOf(subscribed) != "" {
			cmd.Queue = subscribed
		}
	default:
		u, err := url.Parse(in.GetUrl())
		if err != nil || u.Hostname() == "" {
			return nil, refusal.SNSInvalid("url")
		}
		protocol, known := attributes.ParseProtocol(u.Scheme)
		if !known || !protocol.Web() {
			return nil, refusal.SNSInvalid("url")
		}
		cmd.Protocol, cmd.Endpoint, cmd.Server = protocol, in.GetUrl(), aws.BaseURL(c.in.request)
	}
	subscribed, err := resultOf[queue.Subscribed](c.Submit(ctx, cmd))
	return &seriatimpb.SubscribeResponse{SubscriptionArn: subscribed.SubscriptionARN, Pending: subscribed.Pending}, err
}

// ConfirmSubscription confirms the subscription of a URL. Whoever calls this port is taken
// for authenticated, as for Unsubscribe.
func (t *topics) ConfirmSubscription(ctx context.Context, in *seriatimpb.ConfirmSubscriptionRequest) (*seriatimpb.ConfirmSubscriptionResponse, error) {
	c := callOf(ctx)
	if err := c.onTopic(in.GetTopic()); err != nil {
		return nil, err
	}
	confirmed, err := resultOf[queue.Subscribed](c.Submit(ctx, &queue.ConfirmSubscription{
		Topic: c.topic, Token: in.GetToken(), Signed: true, AuthenticateOnUnsubscribe: in.GetAuthenticateOnUnsubscribe(),
	}))
	return &seriatimpb.ConfirmSubscriptionResponse{SubscriptionArn: confirmed.SubscriptionARN}, err
}

// Unsubscribe removes a subscription.
func (t *topics) Unsubscribe(ctx context.Context, in *seriatimpb.UnsubscribeRequest) (*seriatimpb.UnsubscribeResponse, error) {
	c := callOf(ctx)
	if err := c.onSubscription(in.GetSubscriptionArn()); err != nil {
		return nil, err
	}
	_, err := c.Submit(ctx, &queue.Unsubscribe{SubscriptionARN: in.GetSubscriptionArn(), Signed: true})
	return &seriatimpb.UnsubscribeResponse{}, err
}

// GetSubscriptionAttributes reads the attributes of a subscription.
func (t *topics) GetSubscriptionAttributes(ctx context.Context, in *seriatimpb.GetSubscriptionAttributesRequest) (*seriatimpb.GetSubscriptionAttributesResponse, error) {
	c := callOf(ctx)
	if err := c.onSubscription(in.GetSubscriptionArn()); err != nil {
		return nil, err
	}
	out := &seriatimpb.GetSubscriptionAttributesResponse{}
	err := c.Read(ctx, func(v queue.View) error {
		listed, err := unless(v.SubscriptionAttributes(in.GetSubscriptionArn()))
		out.Attributes = attributeMap(listed)
		return err
	})
	return out, err
}

// SetSubscriptionAttributes changes attributes, all or none.
func (t *topics) SetSubscriptionAttributes(ctx context.Context, in *seriatimpb.SetSubscriptionAttributesRequest) (*seriatimpb.SetSubscriptionAttributesResponse, error) {
	c := callOf(ctx)
	if err := c.onSubscription(in.GetSubscriptionArn()); err != nil {
		return nil, err
	}
	if len(in.GetAttributes()) == 0 {
		return nil, refusal.MissingParameter("attributes")
	}
	given := queueAttributes(in.GetAttributes())
	if refused := t.server.Names.CheckDeadLetter(given); refused != nil {
		return nil, refused
	}
	_, err := c.Submit(ctx, &queue.SetSubscriptionAttributes{SubscriptionARN: in.GetSubscriptionArn(), Attributes: given})
	return &seriatimpb.SetSubscriptionAttributesResponse{}, err
}

// ListSubscriptions lists the subscriptions of a topic, or those that the caller's account
// owns.
func (t *topics) ListSubscriptions(ctx context.Context, in *seriatimpb.ListSubscriptionsRequest) (*seriatimpb.ListSubscriptionsResponse, error) {
	c := callOf(ctx)
	about := func() error { return c.permit(service.Resource{}) }
	if in.GetTopic() != "" {
		about = func() error { return c.onTopic(in.GetTopic()) }
	}
	if err := about(); err != nil {
		return nil, err
	}
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, refused
	}
	after, err := strconv.ParseUint(p.after, 10, 64)
	if err != nil && p.after != "" {
		return nil, badPageToken(in.GetPageToken())
	}
	var found []queue.SubscriptionSummary
	err = c.Read(ctx, func(v queue.View) (err error) {
		if c.topic == "" {
			found = v.SubscriptionsOf(c.Scope.CallerID(), after, p.size+1)
			return nil
		}
		found, err = unless(v.ListSubscriptionsByTopic(c.topic, after, p.size+1))
		return err
	})
	out := &seriatimpb.ListSubscriptionsResponse{}
	if len(found) > p.size {
		found = found[:p.size]
		out.NextPageToken = pageToken(strconv.FormatUint(found[p.size-1].Number, 10))
	}
	for _, s := range found {
		topic, name := c.nameIn(arn.Topic, s.TopicARN), c.nameIn(arn.Queue, s.Endpoint)
		out.Subscriptions = append(out.Subscriptions, &seriatimpb.Subscription{
			SubscriptionArn: s.SubscriptionARN, Topic: topic, Endpoint: s.Endpoint, Queue: name, Pending: s.Pending,
		})
	}
	return out, err
}

// nameIn is the name in an ARN as the caller would write it: with the account unless that
// is its own.
func (c *call) nameIn(read func(string) (string, bool), text string) string {
	name, ok := read(text)
	if qualified := c.Scope.Of(arn.AccountOf(text), name); ok && c.Scope.Foreign(qualified) {
		return arn.AccountOf(text) + "/" + name
	}
	return name
}
