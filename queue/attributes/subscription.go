package attributes

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Subscription are the typed attributes of a subscription to a topic. A
// value is replaced as a whole, never changed in place, so copies may be shared
// with snapshots.
type Subscription struct {
	Ends        Ends
	RawDelivery bool
	Filter      *filter.Policy // nil for none
	// FilterScope is kept without a policy, too, for one that comes later.
	FilterScope  filter.Scope
	DeadLetter   policy.DeadLetter
	Delivery     policy.Delivery // of a web protocol
	Replay       policy.Replay
	ReplayStatus ReplayStatus
}

// Ends holds the properties of the topic and the subscriber that rules for a subscription need. They
// never change.
type Ends struct {
	Protocol  Protocol
	FIFOTopic bool
	FIFOQueue bool
}

// ReplayStatus is the progress of the replay of a subscription.
type ReplayStatus uint8

// Replay statuses of SNS; the numbers are stored in snapshots. A new ReplayPolicy is
// pending, whatever the state of the one before.
const (
	ReplayNone       ReplayStatus = 0
	ReplayPending    ReplayStatus = 1
	ReplayInProgress ReplayStatus = 2
	ReplayCompleted  ReplayStatus = 3
	ReplayFailed     ReplayStatus = 4
)

// Running reports whether a replay has still to deliver: until it has, what is published
// reaches the subscription through the archive.
func (s ReplayStatus) Running() bool { return s == ReplayPending || s == ReplayInProgress }

var replayStatusNames = [...]string{
	ReplayNone:       "",
	ReplayPending:    "Pending",
	ReplayInProgress: "In progress",
	ReplayCompleted:  "Completed",
	ReplayFailed:     "Failed",
}

// ParseReplayStatus reads a status as SNS writes it, "" for none.
func ParseReplayStatus(text string) (ReplayStatus, bool) {
	i := slices.Index(replayStatusNames[:], text)
	return ReplayStatus(max(i, 0)), i >= 0
}

// CreateSubscription are the attributes of a new subscription: the defaults, then
// what the request gives.
func CreateSubscription(ends Ends, given []Attribute) (Subscription, *refusal.Error) {
	return Subscription{Ends: ends}.with(given, prefixCreate)
}

// WithChanges are the attributes after SetSubscriptionAttributes. One bad
// attribute refuses them all.
func (a Subscription) WithChanges(given []Attribute) (Subscription, *refusal.Error) {
	return a.with(given, prefixSet)
}

func (a Subscription) with(given []Attribute, prefix string) (Subscription, *refusal.Error) {
	reason := subscriptionTable.assign(&a, assignment{given: given, fifo: a.Ends.FIFOTopic})
	if reason == "" && a.Filter != nil && a.Filter.Scope() != a.FilterScope {
		// Only the scope was changed: the policy has to be one there, too.
		reason = a.filterBy(a.Filter.Text())
	}
	if reason != "" {
		return Subscription{}, refuse(prefix, reason)
	}
	return a, nil
}

// filterBy sets the filter policy, in the scope there is.
func (a *Subscription) filterBy(text string) (reason string) {
	p, err := filter.Parse(text, a.FilterScope)
	if err != nil {
		return err.Error()
	}
	a.Filter = p
	return ""
}

// Matches refuses Subscribe on an existing subscription if an attribute that is
// given is not the current one; others are not compared. The request must be valid
// by itself first.
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

// AsksForReplay reports whether attributes that were found valid begin a replay.
func AsksForReplay(given []Attribute) bool {
	text, _ := ValueOf(given, nameReplayPolicy)
	p, _ := policy.ParseReplay(text)
	return p.Text != ""
}

// Takes reports whether a message published at a time is delivered at once: not while a
// replay runs, which will come to it, and not behind the end of a replay that has one.
func (a *Subscription) Takes(published logtime.Timestamp) bool {
	if a.ReplayStatus.Running() {
		return false
	}
	return a.ReplayStatus != ReplayCompleted || !a.Replay.Ends || published <= a.Replay.End
}

// List gives what GetSubscriptionAttributes lists of the attributes that can be
// set, and ReplayStatus, sorted by name.
func (a Subscription) List() []Attribute { return subscriptionTable.list(&a, a.Ends.FIFOTopic) }

// Names of the subscription attributes that rules mention beside their row;
// RedrivePolicy is with the rows of queues.
const (
	nameFilterPolicy      = "FilterPolicy"
	nameFilterPolicyScope = "FilterPolicyScope"
	nameReplayPolicy      = "ReplayPolicy"
	nameReplayStatus      = "ReplayStatus"
)

// subscriptionTable has one row per attribute of a subscription, sorted by name.
// It is never changed.
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

// filterScopes are the values of FilterPolicyScope, with the format version they came with.
var filterScopes = words{{filter.MessageAttributes.String(), 1}, {filter.MessageBody.String(), 1}}

// filterScopeRow is FilterPolicyScope, read first, since it decides which texts
// are a FilterPolicy. SNS lists it only beside a policy.
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

// deadLetterRow is RedrivePolicy. Only a FIFO queue keeps the order of what was
// meant for a FIFO queue, and SNS demands one; a standard queue may have either.
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

// deliveryRow is DeliveryPolicy, which only subscribers with a web protocol have.
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

// replayRow is ReplayPolicy. Setting one begins a replay, also if it is the one
// there is.
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
