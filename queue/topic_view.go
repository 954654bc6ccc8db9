package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// SubscriptionSummary is a subscription as the lists of SNS show it.
type SubscriptionSummary struct {
	Number          uint64 // rises in the order in which a list has them
	Protocol        attributes.Protocol
	Pending         bool // it has still to be confirmed
	SubscriptionARN string
	Owner           string
	Endpoint        string
	TopicARN        string
}

// Topics is the number of topics.
func (v View) Topics() int { return v.b.topics.Len() }

// ListTopics lists at most limit names of topics, qualified by their accounts, that sort
// after after.
func (v View) ListTopics(after string, limit int) []string { return v.b.topics.Names(after, limit) }

// TopicsOf lists at most limit topics of an account, the empty text for the cluster's own.
// They are qualified and sort after after, which is.
func (v View) TopicsOf(owner, after string, limit int) (names []string) {
	from := max(after, account.Qualify(owner, ""))
	for len(names) < limit {
		page := v.b.topics.Names(from, limit)
		if len(page) == 0 {
			break
		}
		for _, name := range page {
			from = name
			if other := account.OwnerOf(name); other == owner {
				names = append(names, name)
			} else if owner != "" {
				return names // behind those of the account
			} else {
				from = account.Behind(other)
				break
			}
			if len(names) == limit {
				break
			}
		}
	}
	return names
}

// TopicSubscriptions is how many subscriptions a topic has.
func (v View) TopicSubscriptions(name string) (int, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return 0, refusal.NoSuchTopic()
	}
	return t.Subscriptions(), nil
}

// TopicARN is the ARN of a topic.
func (v View) TopicARN(name string) (string, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return "", refusal.NoSuchTopic()
	}
	return t.ARN, nil
}

// TopicAttributes lists what is stored of the attributes of a topic, with its ARN and the
// counters, sorted by name. The owner, and the defaults of Policy and
// EffectiveDeliveryPolicy, are added by the protocol layer.
func (v View) TopicAttributes(name string) ([]Attribute, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	list := append(t.Attributes.List(),
		Attribute{Name: "SubscriptionsConfirmed", Value: strconv.Itoa(t.Subscriptions() - t.Pending())},
		Attribute{Name: "SubscriptionsDeleted", Value: strconv.FormatUint(t.Unsubscribed, 10)},
		Attribute{Name: "SubscriptionsPending", Value: strconv.Itoa(t.Pending())},
		Attribute{Name: "TopicArn", Value: t.ARN})
	if t.Attributes.Archive.Days > 0 {
		begin := t.ArchiveBegin(v.b.now).AppendRFC3339(nil)
		list = append(list, Attribute{Name: "BeginningArchiveTime", Value: string(begin)})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// RunningReplays are the numbers of the subscriptions that need ReplayMessages.
func (v View) RunningReplays() []uint64 { return v.b.topics.Replays() }

// TypedTopic returns the typed attributes of a topic.
func (v View) TypedTopic(name string) (TopicAttributes, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return TopicAttributes{}, refusal.NoSuchTopic()
	}
	return t.Attributes, nil
}

// TopicTags lists the tags of a topic sorted by key.
func (v View) TopicTags(name string) ([]Tag, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return nil, noSuchResource()
	}
	return t.Tags, nil
}

// ListSubscriptions lists at most limit subscriptions whose numbers are above after.
func (v View) ListSubscriptions(after uint64, limit int) (list []SubscriptionSummary) {
	v.b.topics.ScanSubscriptionsFrom(after+1, listed(&list, limit))
	return list
}

// SubscriptionsOf lists at most limit subscriptions that an account owns, by its number,
// whose numbers are above after.
func (v View) SubscriptionsOf(owner string, after uint64, limit int) (list []SubscriptionSummary) {
	v.b.topics.ScanSubscriptionsOf(owner, after+1, listed(&list, limit))
	return list
}

// listed appends to a list what is visited, until it is limit long.
func listed(list *[]SubscriptionSummary, limit int) func(*topic.Topic, *topic.Subscription) bool {
	return func(t *topic.Topic, s *topic.Subscription) bool {
		if len(*list) < limit {
			*list = append(*list, summary(t, s))
		}
		return len(*list) < limit
	}
}

// ListSubscriptionsByTopic lists at most limit subscriptions of a topic whose numbers are
// above after.
func (v View) ListSubscriptionsByTopic(name string, after uint64, limit int) (list []SubscriptionSummary, err *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	t.ScanSubscriptionsFrom(after+1, func(s *topic.Subscription) bool {
		if len(list) < limit {
			list = append(list, summary(t, s))
		}
		return len(list) < limit
	})
	return list, nil
}

func summary(t *topic.Topic, s *topic.Subscription) SubscriptionSummary {
	return SubscriptionSummary{
		Number: s.Number, Protocol: s.Attributes.Ends.Protocol, Pending: s.Pending(),
		SubscriptionARN: s.ARN, Owner: s.Owner, Endpoint: s.Endpoint, TopicARN: t.ARN,
	}
}

// SubscriptionAttributes lists what GetSubscriptionAttributes says, sorted by name.
func (v View) SubscriptionAttributes(subscriptionARN string) ([]Attribute, *Error) {
	t, s, ok := v.b.subscriptionByARN(subscriptionARN)
	if !ok {
		return nil, refusal.NoSuchSubscription()
	}
	protocol := s.Attributes.Ends.Protocol
	list := append(s.Attributes.List(),
		Attribute{Name: "ConfirmationWasAuthenticated", Value: strconv.FormatBool(!protocol.Web() || s.Confirmation.Signed)},
		Attribute{Name: "Endpoint", Value: s.Endpoint},
		Attribute{Name: "Owner", Value: s.Owner},
		Attribute{Name: "PendingConfirmation", Value: strconv.FormatBool(s.Pending())},
		Attribute{Name: "Protocol", Value: protocol.String()},
		Attribute{Name: "SubscriptionArn", Value: s.ARN},
		Attribute{Name: "SubscriptionPrincipal", Value: s.Principal},
		Attribute{Name: "TopicArn", Value: t.ARN})
	if protocol.Web() {
		effective := policy.EffectiveDeliveryText(t.Attributes.DeliveryPolicy, s.Attributes.Delivery)
		list = append(list, Attribute{Name: "EffectiveDeliveryPolicy", Value: effective})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// SubscribedQueue is the queue that a subscription delivers to, empty for a URL or if there is
// no such subscription.
func (v View) SubscribedQueue(subscriptionARN string) string {
	if _, s, ok := v.b.subscriptionByARN(subscriptionARN); ok {
		return s.Queue
	}
	return ""
}

// UnsubscribesByLink reports whether a subscription may be removed by an unsigned request:
// one of a URL, unless it was confirmed with AuthenticateOnUnsubscribe.
func (v View) UnsubscribesByLink(subscriptionARN string) bool {
	_, s, ok := v.b.subscriptionByARN(subscriptionARN)
	return ok && s.Attributes.Ends.Protocol.Web() && !s.Confirmation.Unsubscribe
}

// RefusesConfirmation is how a command that would confirm a subscription is refused by what
// the state knows, nil if it is not.
func (v View) RefusesConfirmation(c *ConfirmSubscription) *Error {
	_, refused := c.subscription(v.b)
	return refused
}

// WaitingDeliveries is how many deliveries over HTTP are not done.
func (v View) WaitingDeliveries() int { return v.b.outbox.Len() }

// WaitingPosts are the deliveries over HTTP to one subscription that are not done.
type WaitingPosts struct {
	Topic    string // qualified name
	Endpoint string
	Waiting  int
	Attempts uint32 // the most that failed of a delivery, as far as it was looked at
}

// waitingPostsLooked bounds the deliveries of a subscription that WaitingPosts looks at.
const waitingPostsLooked = 100

// WaitingPosts lists the subscriptions that have deliveries over HTTP to wait for.
func (v View) WaitingPosts() (list []WaitingPosts) {
	for _, number := range v.b.outbox.Subscriptions() {
		t, s, ok := v.b.topics.SubscriptionOfNumber(number)
		if !ok {
			continue
		}
		w := WaitingPosts{Topic: t.Name, Endpoint: s.Endpoint, Waiting: v.b.outbox.LenOf(number)}
		if first, some := v.b.outbox.First(number); some { // the others may wait for it
			w.Attempts = first.Attempts
		}
		looked := 0
		v.b.outbox.ScanDue(number, func(i *outbox.Item) bool {
			w.Attempts = max(w.Attempts, i.Attempts)
			looked++
			return looked < waitingPostsLooked
		})
		list = append(list, w)
	}
	return list
}

// DeadLetterQueues lists the queues that the RedrivePolicy of a queue or of a subscription
// names and that exist, by their qualified names.
func (v View) DeadLetterQueues() []string {
	var names []string
	v.b.sources.Scan(func(key string, _ struct{}) bool {
		target, _, _ := strings.Cut(key, "\x00")
		if len(names) == 0 || names[len(names)-1] != target {
			names = append(names, target)
		}
		return true
	})
	v.b.topics.ScanSubscriptionsFrom(0, func(t *topic.Topic, s *topic.Subscription) bool {
		if target := deadLetterQueue(t, s); target != "" {
			names = append(names, target)
		}
		return true
	})
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !v.QueueExists(name) })
}

// OutboxSubscriptions are the numbers of the subscriptions with deliveries over HTTP.
func (v View) OutboxSubscriptions() []uint64 { return v.b.outbox.Subscriptions() }

// WebDelivery is one delivery over HTTP that is not done: what is to be posted where. The
// Request is what does not change any more.
type WebDelivery struct {
	Number   uint64
	Attempts uint32 // that failed
	DueAt    Timestamp
	URL      string
	Request  notification.Request
}

// ScanDeliveries visits the deliveries over HTTP to a subscription in the order in which
// they are due, until visit returns false. request gives one as it is to be posted.
func (v View) ScanDeliveries(subscription uint64, visit func(number uint64, due Timestamp, request func() WebDelivery) bool) {
	t, s, ok := v.b.topics.SubscriptionOfNumber(subscription)
	if !ok {
		return
	}
	v.b.outbox.ScanDue(subscription, func(i *outbox.Item) bool {
		return visit(i.Number, i.DueAt, func() WebDelivery { return v.webDelivery(t, s, i) })
	})
}

func (v View) webDelivery(t *topic.Topic, s *topic.Subscription, i *outbox.Item) WebDelivery {
	_, contentType := policy.EffectiveDelivery(t.Attributes.DeliveryPolicy, s.Attributes.Delivery)
	d := WebDelivery{
		Number: i.Number, Attempts: i.Attempts, DueAt: i.DueAt, URL: s.Endpoint,
		Request: notification.Request{TopicARN: t.ARN, SubscriptionARN: s.ARN, ContentType: contentType},
	}
	if i.Publication != nil {
		d.Request.Notification, d.Request.Raw = i.Publication.Content(), s.Attributes.RawDelivery
		return d
	}
	made := uint64(s.Confirmation.RequestedAt)
	d.Request.Confirmation = &notification.Confirmation{
		MessageID: identifier.NewConfirmationID(v.b.key, s.Number, made),
		Token:     identifier.NewConfirmationToken(v.b.key, v.b.epoch, s.Number, made).String(),
		Server:    s.Confirmation.Server, At: s.Confirmation.RequestedAt,
	}
	return d
}
