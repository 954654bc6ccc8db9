package topic

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Subscription delivers publications that pass its filter to a queue or a URL. It never changes
// once stored: every change stores a new value.
type Subscription struct {
	Number     uint64 // rises with each subscription of the cluster
	ID         identifier.MessageID
	ARN        string // ARN of the topic, a colon, the ID
	Endpoint   string // ARN of the queue, as given, or the URL
	Queue      string // qualified name of the queue, which need not exist
	Owner      string // account
	Principal  string // ARN of the subscriber
	Attributes attributes.Subscription
	Rules      *rules.Set
	// ReplayNext is the number at which a running replay continues.
	ReplayNext uint64
	// Confirmation is zero for a queue.
	Confirmation Confirmation
}

// Confirmation is the state of a URL's confirmation.
type Confirmation struct {
	// RequestedAt is the time of the last request to confirm, zero once confirmed.
	RequestedAt logtime.Timestamp
	// Server is the URL at which the subscriber reached the server, without a trailing slash. The
	// request to confirm links to it.
	Server string
	// Signed reports that the confirming request was signed.
	Signed bool
	// Unsubscribe reports that requests to unsubscribe must be signed.
	Unsubscribe bool
}

// Pending reports whether the subscription is unconfirmed.
func (s *Subscription) Pending() bool { return s.Confirmation.RequestedAt != 0 }

// PendingUntil returns the time at which an unconfirmed subscription is removed, zero if it is
// confirmed.
func (s *Subscription) PendingUntil() logtime.Timestamp {
	if !s.Pending() {
		return 0
	}
	return s.Confirmation.RequestedAt.Add(limits.ConfirmationDays * 24 * logtime.Hour)
}

// Target names the queue, or the origin of the URL, for people.
func (s *Subscription) Target() string {
	if s.Attributes.Ends.Protocol.Web() {
		return attributes.OriginOf(s.Endpoint)
	}
	return s.Queue
}

// key returns the queue or the URL. A topic has at most one subscription for each. A queue's name
// cannot be a URL.
func (s *Subscription) key() string {
	if s.Attributes.Ends.Protocol.Web() {
		return s.Endpoint
	}
	return s.Queue
}

// WithRules returns the subscription with other rules.
func (s *Subscription) WithRules(r *rules.Set) *Subscription {
	changed := *s
	changed.Rules = r
	return &changed
}

// WithReplay returns the subscription with another replay status.
func (s *Subscription) WithReplay(status attributes.ReplayStatus, next uint64) *Subscription {
	changed := *s
	changed.Attributes.ReplayStatus, changed.ReplayNext = status, next
	return &changed
}

// NewARN returns the ARN of a subscription to the topic.
func (t *Topic) NewARN(id identifier.MessageID) string { return t.ARN + ":" + id.String() }

func (s *Subscription) sum(k statehash.Key, incarnation uint64) statehash.Sum {
	return s.sumWith(k, incarnation, s.Rules.Sum())
}

// computeSum computes sum from scratch.
func (s *Subscription) computeSum(k statehash.Key, incarnation uint64) statehash.Sum {
	return s.sumWith(k, incarnation, s.Rules.ComputeSum(k))
}

func (s *Subscription) sumWith(k statehash.Key, incarnation uint64, ruleSum statehash.Sum) statehash.Sum {
	r := append(statehash.Record(nil), statehash.KindSubscription).Num(incarnation).Num(s.Number)
	r = append(r, s.ID[:]...)
	r = r.Text(s.Endpoint).Text(s.Owner).Text(s.Principal)
	if owner := access.OwnerOf(s.Queue); owner != "" {
		r = append(r, statehash.KindAccount).Text(owner)
	}
	for _, a := range s.Attributes.List() {
		r = r.Text(a.Name).Text(a.Value)
	}
	r = r.Num(uint64(s.Attributes.FilterScope)) // List omits it without a policy
	if s.ReplayNext != 0 {
		r = r.Num(s.ReplayNext)
	}
	if protocol := s.Attributes.Ends.Protocol; protocol.Web() {
		c := &s.Confirmation
		r = append(r, byte(protocol)).Time(c.RequestedAt).Text(c.Server).Flag(c.Signed).Flag(c.Unsubscribe)
	}
	if s.Rules != nil {
		r = append(r, statehash.KindRule).Num(ruleSum.High).Num(ruleSum.Low)
	}
	return k.Sum(r)
}

func (s *Subscription) size() int64 {
	n := subscriptionOverhead + 2*len(s.Endpoint) + len(s.ARN) + len(s.Owner) + len(s.Principal)
	n += len(s.Attributes.Delivery.Text) + len(s.Confirmation.Server)
	n += len(s.Attributes.Filter.Text()) + len(s.Attributes.DeadLetter.Text) + len(s.Attributes.Replay.Text)
	return int64(n) + s.Rules.Bytes()
}

// Subscriptions returns the number of subscriptions.
func (t *Topic) Subscriptions() int { return t.subscriptions.Len() }

// ScanSubscriptions visits the subscriptions in order of number until visit returns false.
func (t *Topic) ScanSubscriptions(visit func(*Subscription) bool) { t.ScanSubscriptionsFrom(0, visit) }

// ScanSubscriptionsFrom is ScanSubscriptions, starting at a number.
func (t *Topic) ScanSubscriptionsFrom(number uint64, visit func(*Subscription) bool) {
	t.subscriptions.Ascend(number, func(_ uint64, s *Subscription) bool { return visit(s) })
}

// Subscription finds a subscription by its id.
func (t *Topic) Subscription(id string) (*Subscription, bool) { return t.indexed(t.byID, id) }

// SubscriptionOf finds the subscription of a queue or a URL.
func (t *Topic) SubscriptionOf(endpoint string) (*Subscription, bool) {
	return t.indexed(t.byEndpoint, endpoint)
}

func (t *Topic) indexed(index *btree.Map[string, uint64], key string) (*Subscription, bool) {
	number, ok := index.Get(key)
	if !ok {
		return nil, false
	}
	return t.subscriptions.Get(number)
}

// Replays returns the number of running replays.
func (t *Topic) Replays() (n int) {
	t.ScanSubscriptions(func(s *Subscription) bool {
		if s.Attributes.ReplayStatus.Running() {
			n++
		}
		return true
	})
	return n
}

// Pending returns the number of unconfirmed subscriptions.
func (t *Topic) Pending() (n int) {
	t.ScanSubscriptions(func(s *Subscription) bool {
		if s.Pending() {
			n++
		}
		return true
	})
	return n
}

// put stores or replaces a subscription.
func (t *Topic) put(k statehash.Key, s *Subscription) {
	t.drop(k, s.Number)
	t.subscriptions.Set(s.Number, s)
	t.byEndpoint.Set(s.key(), s.Number)
	t.byID.Set(s.ID.String(), s.Number)
	t.sums.subscriptions.Add(s.sum(k, t.Incarnation))
	t.sums.bytes += s.size()
	t.rules += s.Rules.Len()
}

func (t *Topic) drop(k statehash.Key, number uint64) {
	old, was := t.subscriptions.Delete(number)
	if !was {
		return
	}
	t.byEndpoint.Delete(old.key())
	t.byID.Delete(old.ID.String())
	t.sums.subscriptions.Sub(old.sum(k, t.Incarnation))
	t.sums.bytes -= old.size()
	t.rules -= old.Rules.Len()
}

// Rules returns the number of rules of all subscriptions, without those that have only the default.
func (t *Topic) Rules() int { return t.rules }
