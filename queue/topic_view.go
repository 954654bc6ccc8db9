package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// SubscriptionSummary is a subscription in the lists of SNS.
type SubscriptionSummary struct {
	Number          uint64 // rises within a list
	Protocol        attributes.Protocol
	Pending         bool // not confirmed yet
	SubscriptionARN string
	Owner           string
	Endpoint        string
	TopicARN        string
}

// Topics returns the number of topics.
func (v View) Topics() int { return v.b.topics.Len() }

// ListTopics lists at most limit qualified names of topics, in order, after a name.
func (v View) ListTopics(after string, limit int) []string { return v.b.topics.Names(after, limit) }

// TopicsOf lists at most limit topics of an account, empty for the cluster's own, in order, after a
// name. Names are qualified.
func (v View) TopicsOf(owner, after string, limit int) (names []string) {
	from := max(after, access.Qualify(owner, ""))
	for len(names) < limit {
		page := v.b.topics.Names(from, limit)
		if len(page) == 0 {
			break
		}
		for _, name := range page {
			from = name
			if other := access.OwnerOf(name); other == owner {
				names = append(names, name)
			} else if owner != "" {
				return names // past the account's topics
			} else {
				from = access.Behind(other)
				break
			}
			if len(names) == limit {
				break
			}
		}
	}
	return names
}

// TopicARN returns the ARN of a topic.
func (v View) TopicARN(name string) (string, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return "", refusal.NoSuchTopic()
	}
	return t.ARN, nil
}

// TopicAttributes lists the stored attributes of a topic, its ARN and counters, sorted by name. The
// protocol layer adds Owner and the defaults of Policy and EffectiveDeliveryPolicy.
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
	if n := t.ScheduledLen(); n > 0 {
		list = append(list, Attribute{Name: attributes.NameMessagesScheduled, Value: strconv.Itoa(n)})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// RunningReplays returns the numbers of the subscriptions that need ReplayMessages.
func (v View) RunningReplays() []uint64 { return v.b.topics.Replays() }

// TypedTopic returns the typed attributes of a topic.
func (v View) TypedTopic(name string) (TopicAttributes, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return TopicAttributes{}, refusal.NoSuchTopic()
	}
	return t.Attributes, nil
}

// TopicTimes returns the times at which a topic was created and last changed.
func (v View) TopicTimes(name string) (created, modified Timestamp, err *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return 0, 0, refusal.NoSuchTopic()
	}
	return t.CreatedAt, t.ModifiedAt, nil
}

// TopicTags lists the tags of a topic sorted by key.
func (v View) TopicTags(name string) ([]Tag, *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return nil, noSuchResource()
	}
	return t.Tags, nil
}

// ListSubscriptions lists at most limit subscriptions by number, after a number.
func (v View) ListSubscriptions(after uint64, limit int) (list []SubscriptionSummary) {
	v.b.topics.ScanSubscriptionsFrom(after+1, listed(&list, limit))
	return list
}

// SubscriptionsOf lists at most limit subscriptions that an account owns by number, after a number.
func (v View) SubscriptionsOf(owner string, after uint64, limit int) (list []SubscriptionSummary) {
	v.b.topics.ScanSubscriptionsOf(owner, after+1, listed(&list, limit))
	return list
}

// listed returns a visitor that appends to list until it has limit elements.
func listed(list *[]SubscriptionSummary, limit int) func(*topic.Topic, *topic.Subscription) bool {
	return func(t *topic.Topic, s *topic.Subscription) bool {
		if len(*list) < limit {
			*list = append(*list, summary(t, s))
		}
		return len(*list) < limit
	}
}

// ListSubscriptionsByTopic lists at most limit subscriptions of a topic by number, after a number.
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

// SubscriptionAttributes lists the attributes for GetSubscriptionAttributes, sorted by name.
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

// SubscribedQueue returns the queue of a subscription, empty for a URL or an unknown subscription.
func (v View) SubscribedQueue(subscriptionARN string) string {
	if _, s, ok := v.b.subscriptionByARN(subscriptionARN); ok {
		return s.Queue
	}
	return ""
}

// UnsubscribesByLink reports whether an unsigned request may remove a subscription: that of a URL,
// unless it was confirmed with AuthenticateOnUnsubscribe.
func (v View) UnsubscribesByLink(subscriptionARN string) bool {
	_, s, ok := v.b.subscriptionByARN(subscriptionARN)
	return ok && s.Attributes.Ends.Protocol.Web() && !s.Confirmation.Unsubscribe
}

// RefusesConfirmation returns the error that ConfirmSubscription would get, nil if none.
func (v View) RefusesConfirmation(c *ConfirmSubscription) *Error {
	_, refused := c.subscription(v.b)
	return refused
}

// WaitingDeliveries counts the pending HTTP deliveries.
func (v View) WaitingDeliveries() int { return v.b.outbox.Len() }

// WaitingPosts describes the pending HTTP deliveries to one subscription.
type WaitingPosts struct {
	Topic    string // qualified name
	Endpoint string
	Waiting  int
	Attempts uint32 // highest number of failed attempts among the deliveries examined
}

// waitingPostsExamined bounds the deliveries of a subscription that WaitingPosts examines.
const waitingPostsExamined = 100

// WaitingPosts lists the subscriptions with pending HTTP deliveries.
func (v View) WaitingPosts() (list []WaitingPosts) {
	for _, number := range v.b.outbox.Subscriptions() {
		t, s, ok := v.b.topics.SubscriptionOfNumber(number)
		if !ok {
			continue
		}
		w := WaitingPosts{Topic: t.Name, Endpoint: s.Endpoint, Waiting: v.b.outbox.LenOf(number)}
		if first, some := v.b.outbox.First(number); some { // the oldest one may delay all others
			w.Attempts = first.Attempts
		}
		looked := 0
		v.b.outbox.ScanDue(number, func(i *outbox.Item) bool {
			w.Attempts = max(w.Attempts, i.Attempts)
			looked++
			return looked < waitingPostsExamined
		})
		list = append(list, w)
	}
	return list
}

// DeadLetterQueues lists the existing dead-letter queues of queues and subscriptions, by qualified
// name.
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

// OutboxSubscriptions returns the numbers of the subscriptions with HTTP deliveries.
func (v View) OutboxSubscriptions() []uint64 { return v.b.outbox.Subscriptions() }

// WebDelivery is one pending HTTP delivery.
type WebDelivery struct {
	Number   uint64
	Attempts uint32 // failed attempts
	DueAt    Timestamp
	URL      string
	Request  notification.Request
}

// ScanDeliveries visits the HTTP deliveries to a subscription in order of DueAt, until visit
// returns false. request builds the delivery.
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

// RefusePublish returns the error of an entry that its topic refuses by its attributes, nil for none.
func (v View) RefusePublish(name string, e *PublishEntry) *Error {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return refusal.NoSuchTopic()
	}
	_, err := e.begin(&t.Attributes)
	return err
}

// SubscriptionState describes a subscription for an explanation.
type SubscriptionState struct {
	Topic, TopicARN string
	Endpoint        string // for people
	Queue           string // empty: a URL
	PendingUntil    Timestamp
	QueueExists     bool
	QueueFits       bool // a FIFO queue needs a FIFO topic
	QueuePaused     bool
	QueueNeedsGroup bool   // and messages of the topic may have none
	Filter          string // its policy, empty: none
	FilterScope     string
	DeadLetterQueue string
	DeadLetterFits  bool
	Replay          attributes.ReplayStatus
	Waiting         int       // HTTP deliveries
	Attempts        uint32    // failed attempts of the first one
	RetryAt         Timestamp // of the first one
}

// SubscriptionState finds a subscription.
func (v View) SubscriptionState(subscriptionARN string) (SubscriptionState, *Error) {
	t, s, ok := v.b.subscriptionByARN(subscriptionARN)
	if !ok {
		return SubscriptionState{}, refusal.NoSuchSubscription()
	}
	out := SubscriptionState{
		Topic: t.Name, TopicARN: t.ARN, Endpoint: s.Target(), Queue: s.Queue, PendingUntil: s.PendingUntil(),
		Filter: s.Attributes.Filter.Text(), FilterScope: s.Attributes.FilterScope.String(),
		DeadLetterQueue: deadLetterQueue(t, s), Replay: s.Attributes.ReplayStatus, Waiting: v.b.outbox.LenOf(s.Number),
	}
	fits := func(name string) (exists, fits bool) {
		q, exists := v.b.queues.Get(name)
		return exists, exists && (t.Attributes.FIFO || !q.attributes.FIFO)
	}
	out.QueueExists, out.QueueFits = fits(s.Queue)
	_, out.DeadLetterFits = fits(out.DeadLetterQueue)
	if q, exists := v.b.queues.Get(s.Queue); exists {
		out.QueuePaused = q.attributes.DeliveryPaused
		out.QueueNeedsGroup = t.Attributes.GroupOptional && needsGroupID(&q.attributes)
	}
	v.b.outbox.ScanDue(s.Number, func(i *outbox.Item) bool {
		out.Attempts, out.RetryAt = i.Attempts, i.DueAt
		return false
	})
	return out, nil
}

// FilterUnmet lists the keys of a subscription's filter policy that a message does not match. passes
// reports whether it passes the filter.
func (v View) FilterUnmet(subscriptionARN string, given []MessageAttribute, body string) (keys []string, passes bool, err *Error) {
	_, s, ok := v.b.subscriptionByARN(subscriptionARN)
	if !ok {
		return nil, false, refusal.NoSuchSubscription()
	}
	list := make([]filter.Attribute, len(given))
	for i, a := range given {
		list[i] = filter.Attribute(a)
	}
	m := filter.NewMessage(list, body)
	if s.Attributes.Filter.Match(m) {
		return nil, true, nil
	}
	return s.Attributes.Filter.Unmet(m), false, nil
}
