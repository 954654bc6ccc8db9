package attributes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Subscription holds the typed attributes of a subscription. A value is replaced as a whole, never
// changed in place, so snapshots may share copies.
type Subscription struct {
	Ends        Ends
	RawDelivery bool
	Filter      *filter.Policy // nil: none
	// FilterScope is kept even without a filter policy, for a policy that is set later.
	FilterScope  filter.Scope
	DeadLetter   policy.DeadLetter
	DropFaulty   bool            // DeadLetterOnFilterError=false
	Delivery     policy.Delivery // empty for a queue
	Replay       policy.Replay
	ReplayStatus ReplayStatus
}

// Ends holds the properties of topic and subscriber that attribute rules depend on. They never
// change.
type Ends struct {
	Protocol  Protocol
	FIFOTopic bool
	FIFOQueue bool
}

// ReplayStatus is the progress of the replay of a subscription.
type ReplayStatus uint8

// Replay statuses of SNS; snapshots contain the numbers. A new ReplayPolicy is pending, whatever
// the status of the previous one.
const (
	ReplayNone       ReplayStatus = 0
	ReplayPending    ReplayStatus = 1
	ReplayInProgress ReplayStatus = 2
	ReplayCompleted  ReplayStatus = 3
	ReplayFailed     ReplayStatus = 4
)

// Running reports whether a replay has not ended. Until it has, new publications reach the
// subscription through the archive.
func (s ReplayStatus) Running() bool { return s == ReplayPending || s == ReplayInProgress }

var replayStatusNames = [...]string{
	ReplayNone:       "",
	ReplayPending:    "Pending",
	ReplayInProgress: "In progress",
	ReplayCompleted:  "Completed",
	ReplayFailed:     "Failed",
}

// ParseReplayStatus parses a status of SNS, "" for none.
func ParseReplayStatus(text string) (ReplayStatus, bool) {
	i := slices.Index(replayStatusNames[:], text)
	return ReplayStatus(max(i, 0)), i >= 0
}

// CreateSubscription returns the attributes of a new subscription: the defaults, changed by the
// request.
func CreateSubscription(ends Ends, given []Attribute) (Subscription, *refusal.Error) {
	return Subscription{Ends: ends}.with(given, prefixCreate)
}

// WithChanges returns the attributes after SetSubscriptionAttributes. One invalid attribute refuses
// the whole request.
func (a Subscription) WithChanges(given []Attribute) (Subscription, *refusal.Error) {
	return a.with(given, prefixSet)
}

func (a Subscription) with(given []Attribute, prefix string) (Subscription, *refusal.Error) {
	var extensions ExtensionSet // there are none
	err := subscriptionTable.assign(&a, request{given: given, fifo: a.Ends.FIFOTopic}, &extensions)
	if err == nil && a.Filter != nil && a.Filter.Scope() != a.FilterScope {
		// Only the scope was changed: the policy must be valid there, too.
		err = a.filterBy(a.Filter.Text())
	}
	if err != nil {
		return Subscription{}, snsError(prefix, err)
	}
	return a, nil
}

// filterBy sets the filter policy, in the present scope.
func (a *Subscription) filterBy(text string) *refusal.Error {
	p, err := filter.Parse(text, a.FilterScope)
	if err != nil {
		return refusal.New(refusal.SNSInvalidParameter, err.Error())
	}
	a.Filter = p
	return nil
}

// Matches refuses Subscribe on an existing subscription if a requested attribute differs from the
// current one. It does not compare the others. It returns an error for an invalid request.
func (a Subscription) Matches(given []Attribute) *refusal.Error {
	wanted, err := CreateSubscription(a.Ends, given)
	if err != nil {
		return err
	}
	if !subscriptionTable.equal(&a, &wanted, given) {
		return SubscriptionDiffers()
	}
	return nil
}

// SubscriptionDiffers refuses Subscribe on an existing subscription that is not as requested.
func SubscriptionDiffers() *refusal.Error {
	return refusal.New(refusal.SNSInvalidParameter, prefixCreate, "Subscription already exists with different attributes")
}

// AsksForReplay reports whether valid attributes start a replay.
func AsksForReplay(given []Attribute) bool {
	text, _ := ValueOf(given, nameReplayPolicy)
	p, _ := policy.ParseReplay(text)
	return p.Text != ""
}

// Takes reports whether a message published at a time is delivered at once. It is not while a
// replay runs, which will deliver it, nor after the end point of a completed replay.
func (a *Subscription) Takes(published logtime.Timestamp) bool {
	if a.ReplayStatus.Running() {
		return false
	}
	return a.ReplayStatus != ReplayCompleted || !a.Replay.Ends || published <= a.Replay.End
}

// List returns the attributes that GetSubscriptionAttributes lists, sorted by name.
func (a Subscription) List() []Attribute { return subscriptionTable.list(&a, a.Ends.FIFOTopic, 0) }

const nameReplayPolicy = "ReplayPolicy"

// filterScopes are the values of FilterPolicyScope.
var filterScopes = words{{filter.MessageAttributes.String(), 1}, {filter.MessageBody.String(), 1}}

// subscriptionTable holds the attributes of subscriptions.
var subscriptionTable = newTable(true,
	row(nameDeliveryPolicy, 1, onAny, "Says how often and how fast deliveries are repeated. HTTP subscribers only.", deliveryValue()),
	row("DeadLetterOnFilterError", 1, onAny,
		"With `true`, the default, a message goes to a dead-letter queue if a rule fails for it. Otherwise the rule selects nothing.",
		filterErrorValue()),
	row("FilterPolicy", 1, onAny, "Delivers only messages that match. `{}` matches all.", attribute[Subscription]{
		takes: takesPolicy(policy.FilterGrammar),
		parse: func(a *Subscription, s setting) *refusal.Error { return a.filterBy(s.value) },
		print: func(a *Subscription) (string, bool) { return a.Filter.Text(), a.Filter != nil },
	}),
	row("FilterPolicyScope", 1, onAny, "Says whether the filter looks at message attributes or at a body in JSON.", filterScopeValue()),
	row("RawMessageDelivery", 1, onAny,
		"With `true`, the body is the message as published. Otherwise it is an envelope in JSON.",
		flag(func(a *Subscription) *bool { return &a.RawDelivery })),
	row(nameRedrivePolicy, 1, onAny, "Names the queue for messages that cannot be delivered.", deadLetterValue()),
	row(nameReplayPolicy, 1, onFIFO, "Starts a replay of the archive of the topic. `{}` ends it.", replayValue()),
	row("ReplayStatus", 1, onFIFO, "The progress of the replay.", attribute[Subscription]{
		takes: takesText("nothing: it is listed only"), readOnly: true,
		print: func(a *Subscription) (string, bool) {
			return replayStatusNames[a.ReplayStatus], a.ReplayStatus != ReplayNone
		},
	}),
)

// filterErrorValue is DeadLetterOnFilterError. Lists omit the default, because SNS does not have it.
func filterErrorValue() attribute[Subscription] {
	v := inverseFlag(func(a *Subscription) *bool { return &a.DropFaulty })
	parse := v.parse
	v.parse = func(a *Subscription, s setting) *refusal.Error {
		if a.Ends.Protocol.Web() { // it has no rules
			return noSuchAttribute()
		}
		return parse(a, s)
	}
	v.print = func(a *Subscription) (string, bool) { return strconv.FormatBool(!a.DropFaulty), a.DropFaulty }
	return v
}

// filterScopeValue is FilterPolicyScope. It is read first, because it decides which texts are a
// FilterPolicy. SNS lists it only beside a policy.
func filterScopeValue() attribute[Subscription] {
	return attribute[Subscription]{
		takes: takes{words: filterScopes}, early: true,
		parse: func(a *Subscription, s setting) *refusal.Error {
			scope, err := filter.ParseScope(s.value)
			if err != nil {
				return refusal.New(refusal.SNSInvalidParameter, err.Error())
			}
			a.FilterScope = scope
			return nil
		},
		print: func(a *Subscription) (string, bool) { return a.FilterScope.String(), a.Filter != nil },
	}
}

// deadLetterValue is RedrivePolicy. Only a FIFO queue keeps the order of messages for a FIFO queue,
// and SNS demands one; a standard queue may have either.
func deadLetterValue() attribute[Subscription] {
	return attribute[Subscription]{
		takes: takesPolicy(policy.DeadLetterGrammar),
		parse: func(a *Subscription, s setting) *refusal.Error {
			p, reason := policy.ParseDeadLetter(s.value)
			if reason == "" && p.Target != "" && a.Ends.FIFOTopic && a.Ends.FIFOQueue && !strings.HasSuffix(p.Target, ".fifo") {
				reason = "must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."
			}
			if reason != "" {
				return s.malformed(reason)
			}
			a.DeadLetter = p
			return nil
		},
		print: func(a *Subscription) (string, bool) { return a.DeadLetter.Text, a.DeadLetter.Text != "" },
		same:  func(a, b *Subscription) bool { return a.DeadLetter.Target == b.DeadLetter.Target },
	}
}

// deliveryValue is DeliveryPolicy, which only subscribers with a web protocol have.
func deliveryValue() attribute[Subscription] {
	return attribute[Subscription]{
		takes: takesPolicy(policy.DeliveryGrammar),
		parse: func(a *Subscription, s setting) *refusal.Error {
			if !a.Ends.Protocol.Web() {
				return noSuchAttribute()
			}
			p, reason := policy.ParseDelivery(s.value)
			if reason != "" {
				return s.malformed(reason)
			}
			a.Delivery = p
			return nil
		},
		print: func(a *Subscription) (string, bool) { return a.Delivery.Text, a.Delivery.Text != "" },
	}
}

// replayValue is ReplayPolicy. Setting one begins a replay, also if it is the present one.
func replayValue() attribute[Subscription] {
	return attribute[Subscription]{
		takes: takesPolicy(policy.ReplayGrammar),
		parse: func(a *Subscription, s setting) *refusal.Error {
			p, reason := policy.ParseReplay(s.value)
			if reason != "" {
				return s.malformed(reason)
			}
			a.Replay, a.ReplayStatus = p, ReplayNone
			if p.Text != "" {
				a.ReplayStatus = ReplayPending
			}
			return nil
		},
		print: func(a *Subscription) (string, bool) { return a.Replay.Text, a.Replay.Text != "" },
		same: func(a, b *Subscription) bool {
			p, q := a.Replay, b.Replay
			p.Text, q.Text = "", ""
			return p == q && (a.Replay.Text == "") == (b.Replay.Text == "")
		},
	}
}
