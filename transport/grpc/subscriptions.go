package grpc

import (
	"context"
	"net/url"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// onSubscription sets the topic of the call to that of a subscription.
func (c *call) onSubscription(text string) error {
	if text == "" {
		return refusal.MissingParameter("subscription_arn")
	}
	name, _, _ := arn.Subscription(text)
	if name != "" && c.Scope.Elsewhere(text) {
		return refusal.SNSInvalid("subscription_arn Reason: it is of another region")
	}
	c.Record.Topic = c.Scope.Of(arn.AccountOf(text), name[:min(len(name), limits.FIFONameLengthMax)])
	return c.permit(service.Resource{Topic: c.Record.Topic})
}

// Subscribe subscribes a queue or a URL to a topic, or confirms an equal subscription.
func (t *topics) Subscribe(ctx context.Context, in *seriatimpb.SubscribeRequest) (*seriatimpb.SubscribeResponse, error) {
	c := callOf(ctx)
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
		c.Record.Queue = subscribed[:min(len(subscribed), limits.FIFONameLengthMax)]
		if cmd.Endpoint = names.QueueARN(subscribed); access.OwnerOf(subscribed) != "" {
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
	for _, r := range in.GetRules() {
		cmd.Rules = append(cmd.Rules, definitionOf(r))
	}
	subscribed, err := service.Submit[queue.Subscribed](ctx, &c.Call, cmd)
	return &seriatimpb.SubscribeResponse{SubscriptionArn: subscribed.SubscriptionARN, Pending: subscribed.Pending}, err
}

// ConfirmSubscription confirms the subscription of a URL. Calls count as signed, as they do for
// Unsubscribe.
func (t *topics) ConfirmSubscription(ctx context.Context,
	in *seriatimpb.ConfirmSubscriptionRequest) (*seriatimpb.ConfirmSubscriptionResponse, error) {
	c := callOf(ctx)
	confirmed, err := service.Submit[queue.Subscribed](ctx, &c.Call, &queue.ConfirmSubscription{
		Topic: c.topic, Token: in.GetToken(), Signed: true, AuthenticateOnUnsubscribe: in.GetAuthenticateOnUnsubscribe(),
	})
	return &seriatimpb.ConfirmSubscriptionResponse{SubscriptionArn: confirmed.SubscriptionARN}, err
}

// Unsubscribe removes a subscription.
func (t *topics) Unsubscribe(ctx context.Context, in *seriatimpb.UnsubscribeRequest) (*seriatimpb.UnsubscribeResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.Unsubscribe{SubscriptionARN: in.GetSubscriptionArn(), Signed: true})
	return &seriatimpb.UnsubscribeResponse{}, err
}

// GetSubscriptionAttributes reads the attributes of a subscription.
func (t *topics) GetSubscriptionAttributes(ctx context.Context,
	in *seriatimpb.GetSubscriptionAttributesRequest) (*seriatimpb.GetSubscriptionAttributesResponse, error) {
	c := callOf(ctx)
	listed, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Attribute, *queue.Error) {
		return v.SubscriptionAttributes(in.GetSubscriptionArn())
	})
	return &seriatimpb.GetSubscriptionAttributesResponse{Attributes: attributeMap(listed)}, err
}

// SetSubscriptionAttributes changes attributes, all or none.
func (t *topics) SetSubscriptionAttributes(ctx context.Context,
	in *seriatimpb.SetSubscriptionAttributesRequest) (*seriatimpb.SetSubscriptionAttributesResponse, error) {
	c := callOf(ctx)
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
func (t *topics) ListSubscriptions(ctx context.Context, in *seriatimpb.ListSubscriptionsRequest) (*seriatimpb.ListSubscriptionsResponse,
	error) {
	c := callOf(ctx)
	subject := onTopic
	if in.GetTopic() == "" {
		subject = onAccount
	}
	if err := subject(c, in); err != nil {
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
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.SubscriptionSummary, *queue.Error) {
		if c.topic == "" {
			return v.SubscriptionsOf(c.Scope.CallerID(), after, p.size+1), nil
		}
		return v.ListSubscriptionsByTopic(c.topic, after, p.size+1)
	})
	found, token := cut(p, found, func(last queue.SubscriptionSummary) string { return strconv.FormatUint(last.Number, 10) })
	out := &seriatimpb.ListSubscriptionsResponse{NextPageToken: token}
	for _, s := range found {
		topic, name := c.nameIn(arn.Topic, s.TopicARN), c.nameIn(arn.Queue, s.Endpoint)
		out.Subscriptions = append(out.Subscriptions, &seriatimpb.Subscription{
			SubscriptionArn: s.SubscriptionARN, Topic: topic, Endpoint: s.Endpoint, Queue: name, Pending: s.Pending,
		})
	}
	return out, err
}

// nameIn returns the name in an ARN, with the account unless that is the caller's.
func (c *call) nameIn(read func(string) (string, bool), text string) string {
	name, ok := read(text)
	if qualified := c.Scope.Of(arn.AccountOf(text), name); ok && c.Scope.Foreign(qualified) {
		return arn.AccountOf(text) + "/" + name
	}
	return name
}
