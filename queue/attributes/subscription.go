package attributes

import (
	"slices"
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
	reason := subscriptionTable.assign(&a, assignment{given: given, fifo: a.Ends.FIFOTopic})
	if reason == "" && a.Filter != nil && a.Filter.Scope() != a.FilterScope {
		// If only the scope changes, the existing policy must be valid in it.
		reason = a.filterBy(a.Filter.Text())
	}
	if reason != "" {
		return Subscription{}, refuse(prefix, reason)
	}
	return a, nil
}

// filterBy sets the filter policy, in the current scope.
func (a *Subscription) filterBy(text string) (reason string) {
	p, err := filter.Parse(text, a.FilterScope)
	if err != nil {
		return err.Error()
	}
	a.Filter = p
	return ""
}

// Matches refuses Subscribe on an existing subscription if a requested attribute differs from the
// current one. It does not compare the others. It returns an error for an invalid request.
func (a Subscription) Matches(given []Attribute) *refusal.Error {
	wanted, err := CreateSubscription(a.Ends, given)
	if err != nil {
		return err
	}
	if !subscriptionTable.equal(&a, &wanted, given) {
		return refuse(prefixCreate, "Subscription already exists with different attributes")
	}
	return nil
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

// List returns the attributes that GetSubscriptionAttributes lists and that can be set, and
// ReplayStatus, sorted by name.
func (a Subscription) List() []Attribute { return subscriptionTable.list(&a, a.Ends.FIFOTopic) }

// Names of subscription attributes that are used outside of their rows. RedrivePolicy is with the
// queue attributes.
const (
	nameFilterPolicy      = "FilterPolicy"
	nameFilterPolicyScope = "FilterPolicyScope"
	nameReplayPolicy      = "ReplayPolicy"
	nameReplayStatus      = "ReplayStatus"
)

// subscriptionTable has one row for each attribute of a subscription, sorted by name.
var subscriptionTable = sorted(settables[Subscription]{
	deliveryRow(),
	{
		name: nameFilterPolicy, since: 1, takes: takesPolicy(policy.FilterGrammar),
		parse: func(a *Subscription, value string, _ Assignment) string { return a.filterBy(value) },
		print: func(a *Subscription) (string, bool) { return a.Filter.Text(), a.Filter != nil },
	},
	filterScopeRow(),
	settableFlag("RawMessageDelivery", 1, func(a *Subscription) *bool { return &a.RawDelivery }),
	deadLetterRow(),
	replayRow(),
	{
		name: nameReplayStatus, since: 1, takes: takesText("nothing: it is listed only"), fifoOnly: true, readOnly: true,
		print: func(a *Subscription) (string, bool) {
			return replayStatusNames[a.ReplayStatus], a.ReplayStatus != ReplayNone
		},
	},
})

// filterScopes are the values of FilterPolicyScope.
var filterScopes = words{{filter.MessageAttributes.String(), 1}, {filter.MessageBody.String(), 1}}

// filterScopeRow is FilterPolicyScope. It is parsed first, because it decides which texts are a
// valid FilterPolicy. SNS lists it only with a policy.
func filterScopeRow() settable[Subscription] {
	return settable[Subscription]{
		name: nameFilterPolicyScope, since: 1, takes: takesWords(filterScopes), early: true,
		parse: func(a *Subscription, value string, _ Assignment) string {
			scope, err := filter.ParseScope(value)
			if err != nil {
				return err.Error()
			}
			a.FilterScope = scope
			return ""
		},
		print: func(a *Subscription) (string, bool) { return a.FilterScope.String(), a.Filter != nil },
	}
}

// deadLetterRow is RedrivePolicy. For a FIFO queue SNS requires a FIFO dead-letter queue, because
// only that keeps the order. A standard queue may have either type.
func deadLetterRow() settable[Subscription] {
	return settable[Subscription]{
		name: nameRedrivePolicy, since: 1, takes: takesPolicy(policy.DeadLetterGrammar),
		parse: func(a *Subscription, value string, _ Assignment) string {
			p, reason := policy.ParseDeadLetter(value)
			if reason != "" {
				return nameRedrivePolicy + ": " + reason
			}
			if p.Target != "" && a.Ends.FIFOTopic && a.Ends.FIFOQueue && !strings.HasSuffix(p.Target, ".fifo") {
				return nameRedrivePolicy + ": must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."
			}
			a.DeadLetter = p
			return ""
		},
		print: func(a *Subscription) (string, bool) { return a.DeadLetter.Text, a.DeadLetter.Text != "" },
	}.comparedBy(func(a, b *Subscription) bool { return a.DeadLetter.Target == b.DeadLetter.Target })
}

// deliveryRow is DeliveryPolicy. Only subscribers with a web protocol have it.
func deliveryRow() settable[Subscription] {
	return settable[Subscription]{
		name: nameDeliveryPolicy, since: 1, takes: takesPolicy(policy.DeliveryGrammar),
		parse: func(a *Subscription, value string, _ Assignment) string {
			if !a.Ends.Protocol.Web() {
				return unknownName
			}
			p, reason := policy.ParseDelivery(value)
			if reason != "" {
				return nameDeliveryPolicy + ": " + reason
			}
			a.Delivery = p
			return ""
		},
		print: func(a *Subscription) (string, bool) { return a.Delivery.Text, a.Delivery.Text != "" },
	}
}

// replayRow is ReplayPolicy. Setting it starts a replay, even with an unchanged policy.
func replayRow() settable[Subscription] {
	return settable[Subscription]{
		name: nameReplayPolicy, since: 1, takes: takesPolicy(policy.ReplayGrammar),
		parse: func(a *Subscription, value string, _ Assignment) string {
			p, reason := policy.ParseReplay(value)
			if reason != "" {
				return nameReplayPolicy + ": " + reason
			}
			a.Replay, a.ReplayStatus = p, ReplayNone
			if p.Text != "" {
				a.ReplayStatus = ReplayPending
			}
			return ""
		},
		print: func(a *Subscription) (string, bool) { return a.Replay.Text, a.Replay.Text != "" },
	}.onFIFO().comparedBy(func(a, b *Subscription) bool {
		p, q := a.Replay, b.Replay
		p.Text, q.Text = "", ""
		return p == q && (a.Replay.Text == "") == (b.Replay.Text == "")
	})
}
