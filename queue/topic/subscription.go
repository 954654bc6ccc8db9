package topic

import (
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Subscription sends what passes its filter to a queue, or to a URL. A value is never
// changed once a topic has it: every change puts a new one in its place.
type Subscription struct {
	Number     uint64 // rises with each subscription of the cluster
	ID         identifier.MessageID
	ARN        string // of the topic, a colon, the ID
	Endpoint   string // ARN of the queue, as it was given, or the URL
	Queue      string // the name in the ARN, qualified by the account; there need not be such a queue
	Owner      string // account
	Principal  string // ARN of who subscribed
	Attributes attributes.Subscription
	// ReplayNext is the number from which on a replay in progress reads the archive.
	ReplayNext uint64
	// Confirmation is zero unless the endpoint is a URL.
	Confirmation Confirmation
}

// Confirmation is whether the subscriber at a URL has agreed to be one.
type Confirmation struct {
	// RequestedAt is when the subscriber was asked last; zero once it has agreed.
	RequestedAt logtime.Timestamp
	// Server is the URL, without a slash at its end, under which whoever subscribed
	// reached the server; the request to confirm refers to it.
	Server string
	// Signed says that the confirmation was a signed request.
	Signed bool
	// Unsubscribe says that the confirmation asked for signed requests to unsubscribe.
	Unsubscribe bool
}

// Pending reports whether the subscriber has still to confirm.
func (s *Subscription) Pending() bool { return s.Confirmation.RequestedAt != 0 }

// PendingUntil is when a subscription that is not confirmed is removed; zero if it is.
func (s *Subscription) PendingUntil() logtime.Timestamp {
	if !s.Pending() {
		return 0
	}
	return s.Confirmation.RequestedAt.Add(limits.ConfirmationDays * 24 * logtime.Hour)
}

// Target names the subscriber in what people read: the queue, or where the URL leads.
func (s *Subscription) Target() string {
	if s.Attributes.Ends.Protocol.Web() {
		return attributes.OriginOf(s.Endpoint)
	}
	return s.Queue
}

// key is what a topic has one subscription of. No name of a queue is a URL.
func (s *Subscription) key() string {
	if s.Attributes.Ends.Protocol.Web() {
		return s.Endpoint
	}
	return s.Queue
}

// WithReplay is the subscription with its replay further on.
func (s *Subscription) WithReplay(status attributes.ReplayStatus, next uint64) *Subscription {
	changed := *s
	changed.Attributes.ReplayStatus, changed.ReplayNext = status, next
	return &changed
}

// NewARN is the ARN of a subscription to the topic.
func (t *Topic) NewARN(id identifier.MessageID) string { return t.ARN + ":" + id.String() }

func (s *Subscription) sum(k statehash.Key, incarnation uint64) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindSubscription).Num(incarnation).Num(s.Number)
	r = append(r, s.ID[:]...)
	r = r.Text(s.Endpoint).Text(s.Owner).Text(s.Principal)
	if owner := account.OwnerOf(s.Queue); owner != "" {
		r = append(r, statehash.KindAccount).Text(owner)
	}
	for _, a := range s.Attributes.List() {
		r = r.Text(a.Name).Text(a.Value)
	}
	r = r.Num(uint64(s.Attributes.FilterScope)) // which List leaves out without a policy
	if s.ReplayNext != 0 {
		r = r.Num(s.ReplayNext)
	}
	if protocol := s.Attributes.Ends.Protocol; protocol.Web() {
		c := &s.Confirmation
		r = append(r, byte(protocol)).Time(c.RequestedAt).Text(c.Server).Flag(c.Signed).Flag(c.Unsubscribe)
	}
	return k.Sum(r)
}

func (s *Subscription) size() int64 {
	n := subscriptionOverhead + 2*len(s.Endpoint) + len(s.ARN) + len(s.Owner) + len(s.Principal)
	n += len(s.Attributes.Delivery.Text) + len(s.Confirmation.Server)
	return int64(n + len(s.Attributes.Filter.Text()) + len(s.Attributes.DeadLetter.Text) + len(s.Attributes.Replay.Text))
}

// Subscriptions is how many there are.
func (t *Topic) Subscriptions() int { return t.subscriptions.Len() }

// ScanSubscriptions visits the subscriptions in the order in which they were made, until
// visit returns false.
func (t *Topic) ScanSubscriptions(visit func(*Subscription) bool) { t.ScanSubscriptionsFrom(0, visit) }

// ScanSubscriptionsFrom is ScanSubscriptions without those of smaller numbers.
func (t *Topic) ScanSubscriptionsFrom(number uint64, visit func(*Subscription) bool) {
	t.subscriptions.Ascend(number, func(_ uint64, s *Subscription) bool { return visit(s) })
}

// Subscription finds a subscription by its id. A topic has so few that it looks at each.
func (t *Topic) Subscription(id string) (found *Subscription, ok bool) {
	t.ScanSubscriptions(func(s *Subscription) bool {
		if s.ID.String() == id {
			found, ok = s, true
		}
		return !ok
	})
	return found, ok
}

// SubscriptionOf finds the subscription of a queue or a URL, of which a topic has one.
func (t *Topic) SubscriptionOf(endpoint string) (*Subscription, bool) {
	number, ok := t.byEndpoint.Get(endpoint)
	if !ok {
		return nil, false
	}
	return t.subscriptions.Get(number)
}

// Replays is how many subscriptions of the topic a replay runs for.
func (t *Topic) Replays() (n int) {
	t.ScanSubscriptions(func(s *Subscription) bool {
		if s.Attributes.ReplayStatus.Running() {
			n++
		}
		return true
	})
	return n
}

// Pending is how many subscriptions of the topic are not confirmed.
func (t *Topic) Pending() (n int) {
	t.ScanSubscriptions(func(s *Subscription) bool {
		if s.Pending() {
			n++
		}
		return true
	})
	return n
}

// put stores a subscription in place of the one with its number, if there is one.
func (t *Topic) put(k statehash.Key, s *Subscription) {
	t.drop(k, s.Number)
	t.subscriptions.Set(s.Number, s)
	t.byEndpoint.Set(s.key(), s.Number)
	t.sums.subscriptions.Add(s.sum(k, t.Incarnation))
	t.sums.bytes += s.size()
}

func (t *Topic) drop(k statehash.Key, number uint64) {
	old, was := t.subscriptions.Delete(number)
	if !was {
		return
	}
	t.byEndpoint.Delete(old.key())
	t.sums.subscriptions.Sub(old.sum(k, t.Incarnation))
	t.sums.bytes -= old.size()
}
