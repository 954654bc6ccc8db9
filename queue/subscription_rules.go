package queue

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// PutRule adds or replaces a rule of a subscription.
type PutRule struct {
	SubscriptionARN string
	Rule            rules.Definition
	Existing        ExistingRule
}

// ExistingRule says which rule of the name there must be. The log contains the numbers.
type ExistingRule uint8

// The conditions for PutRule.
const (
	RuleMayExist    ExistingRule = 0
	RuleMustNot     ExistingRule = 1 // there is none yet
	RuleMustExist   ExistingRule = 2
	existingRuleMax              = RuleMustExist
)

// QueueName implements Command.
func (*PutRule) QueueName() string { return "" }

// Validate parses the rule.
func (c *PutRule) Validate() *Error {
	_, err := c.prepare()
	return err
}

// wellFormed checks the ARN. apply compiles the rule.
func (c *PutRule) wellFormed() *Error {
	if c.Existing > existingRuleMax {
		return refusal.SNSInvalid("the condition for the rule is unknown")
	}
	return CheckSubscriptionARN(c.SubscriptionARN)
}

func (c *PutRule) prepare() (Prepared, *Error) {
	if err := c.wellFormed(); err != nil {
		return Prepared{}, err
	}
	canonical, err := c.Rule.InCanonicalForm()
	if err != nil {
		return Prepared{}, badRule(c.Rule.Name, err)
	}
	ready := *c
	ready.Rule = canonical
	return Prepared{Command: &ready}, nil
}

func badRule(name string, err error) *Error {
	return refusal.SNSInvalid("Rule ", refusal.Echo(name), " Reason: ", err.Error())
}

func (c *PutRule) apply(b *Broker) (Result, *Error) {
	t, s, err := b.subscriptionWithRules(c.SubscriptionARN)
	if err != nil {
		return nil, err
	}
	old, exists := s.Rules.Get(c.Rule.Name)
	switch {
	case exists && c.Existing == RuleMustNot:
		return nil, refusal.New(refusal.RuleAlreadyExists, "The subscription has a rule of the name ", old.Name, " already.")
	case !exists && c.Existing == RuleMustExist:
		return nil, noSuchRule(c.Rule.Name)
	}
	created := b.now
	if exists && old.CreatedAt != 0 {
		created = old.CreatedAt
	}
	rule, wrong := rules.NewRule(b.key, c.Rule, created)
	if wrong != nil {
		return nil, badRule(c.Rule.Name, wrong)
	}
	return b.setRules(t, s, s.Rules.With(b.key, rule))
}

// subscriptionWithRules finds a subscription that can have rules.
func (b *Broker) subscriptionWithRules(subscriptionARN string) (*topic.Topic, *topic.Subscription, *Error) {
	t, s, ok := b.subscriptionByARN(subscriptionARN)
	if !ok {
		return nil, nil, refusal.NoSuchSubscription()
	}
	if s.Attributes.Ends.Protocol.Web() {
		return nil, nil, onlyQueuesHaveRules()
	}
	return t, s, nil
}

func onlyQueuesHaveRules() *Error {
	return refusal.SNSInvalid("Rules Reason: only subscriptions of queues have rules")
}

func noSuchRule(name string) *Error {
	return refusal.New(refusal.RuleNotFound, "The subscription has no rule of the name ", refusal.Echo(name), ".")
}

// setRules changes the rules of a subscription.
func (b *Broker) setRules(t *topic.Topic, s *topic.Subscription, to *rules.Set) (Result, *Error) {
	if err := roomForRules(t, to.Len()-s.Rules.Len()); err != nil {
		return nil, err
	}
	b.topics.Put(b.key, b.beginTopic(t.Name), s.WithRules(to))
	b.noteUse(s.Queue)
	return Done{}, nil
}

func roomForRules(t *topic.Topic, added int) *Error {
	if added <= 0 || t.Rules()+added <= limits.RulesMax {
		return nil
	}
	return refusal.New(refusal.RuleLimitExceeded, "A topic can have ", strconv.Itoa(limits.RulesMax), " rules.")
}

// RemoveRule removes a rule of a subscription. Without rules a subscription gets no message.
type RemoveRule struct {
	SubscriptionARN string
	Rule            string // in any letter case
}

// QueueName implements Command.
func (*RemoveRule) QueueName() string { return "" }

// Validate checks the ARN and the name.
func (c *RemoveRule) Validate() *Error {
	if err := rules.CheckName(c.Rule); err != nil {
		return badRule(c.Rule, err)
	}
	return CheckSubscriptionARN(c.SubscriptionARN)
}

func (c *RemoveRule) apply(b *Broker) (Result, *Error) {
	t, s, err := b.subscriptionWithRules(c.SubscriptionARN)
	if err != nil {
		return nil, err
	}
	if _, exists := s.Rules.Get(c.Rule); !exists {
		return nil, noSuchRule(c.Rule)
	}
	return b.setRules(t, s, s.Rules.Without(b.key, c.Rule))
}

// Rules returns the rules of a subscription of a queue, sorted by name without letter case. The
// default rule is as old as the queue.
func (v View) Rules(subscriptionARN string) ([]*rules.Rule, *Error) {
	_, s, err := v.b.subscriptionWithRules(subscriptionARN)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(s.Rules.All())
	q, exists := v.b.queues.Get(s.Queue)
	for i, r := range list {
		if r.CreatedAt == 0 && exists {
			dated := *r
			dated.CreatedAt = q.createdAt
			list[i] = &dated
		}
	}
	return list, nil
}

// canonicalRules parses the rules of a new subscription.
func canonicalRules(list []rules.Definition) ([]rules.Definition, *Error) {
	var canonical []rules.Definition
	for i, d := range list {
		for _, other := range list[:i] {
			if lettercase.Equal(d.Name, other.Name) {
				return nil, refusal.SNSInvalid("Rule ", refusal.Echo(d.Name), " Reason: the name is given twice")
			}
		}
		ready, err := d.InCanonicalForm()
		if err != nil {
			return nil, badRule(d.Name, err)
		}
		canonical = append(canonical, ready)
	}
	return canonical, nil
}

// newRules compiles the rules of a new subscription, nil if it has none of its own.
func (b *Broker) newRules(t *topic.Topic, list []rules.Definition) (*rules.Set, *Error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := roomForRules(t, len(list)); err != nil {
		return nil, err
	}
	var compiled []*rules.Rule
	for _, d := range list {
		r, err := rules.NewRule(b.key, d, b.now)
		if err != nil {
			return nil, badRule(d.Name, err)
		}
		compiled = append(compiled, r)
	}
	return rules.NewSet(b.key, compiled), nil
}

// ruleMessage is a publication as a rule of a subscription reads it.
type ruleMessage struct {
	*notification.Typed
	key          statehash.Key
	publication  MessageID
	subscription uint64
	rule         string
}

// NewID implements rules.Message.
func (m *ruleMessage) NewID(n int) [16]byte {
	return identifier.NewRuleID(m.key, m.publication, m.subscription, m.rule, n)
}

// delivering is one copy of a publication for a subscription.
type delivering struct {
	message     *publishedMessage
	group       string
	partition   string
	timeToLive  logtime.Duration
	scheduledAt Timestamp
	why         []MessageAttribute // of a dead letter
	source      string             // of a dead letter
}

// original returns the copy of a publication without changes.
func (f *fan) original(s *topic.Subscription) delivering {
	n := f.publication.Content()
	return delivering{message: f.message(s), group: n.GroupID, partition: n.PartitionKey, timeToLive: n.TimeToLive}
}

// Reasons of dead letters: the exceptions of Service Bus.
const (
	reasonFilterFailed = "FilterException"
	reasonActionFailed = "RuleActionException"
)

// selected returns the copies that the rules of a subscription select: one for all rules without an
// action together, and one for each rule with an action. why is not empty if a rule fails: the reason
// of the first failure (Service Bus).
func (f *fan) selected(s *topic.Subscription) (copies []delivering, why []MessageAttribute) {
	if f.typed == nil {
		f.typed, f.unreadable = notification.NewTyped(f.publication.Content())
		f.ruled = ruleMessage{Typed: f.typed, key: f.b.key, publication: f.publication.Content().MessageID}
	}
	m := &f.ruled
	m.subscription = s.Number
	fail := func(reason, problem string) {
		if why == nil {
			why = (&DeadLetterEntry{Reason: reason, Description: "The rule " + m.rule + " failed: " + problem + "."}).attributes()
		}
	}
	plain := false
	for _, r := range s.Rules.All() {
		m.rule = r.Name
		if f.unreadable != nil && (r.Kind == rules.KindSQL || r.Kind == rules.KindCorrelation || r.Change != nil) {
			fail(reasonFilterFailed, f.unreadable.Error())
			continue
		}
		result, fault := r.Filter.Evaluate(m)
		switch {
		case fault != property.OK:
			fail(reasonFilterFailed, fault.String())
		case result != rules.True:
		case r.Change == nil:
			plain = true
		default:
			c, problem := f.changed(s, r, m)
			if problem != "" {
				fail(reasonActionFailed, problem)
				continue
			}
			copies = append(copies, c)
		}
	}
	if plain {
		copies = slices.Insert(copies, 0, f.original(s))
	}
	return copies, why
}

// ruleNameProperty has the name of the rule that changed a message (Service Bus).
const ruleNameProperty = "RuleName"

// changed returns the copy of a rule with an action, or the problem why there is none.
func (f *fan) changed(s *topic.Subscription, r *rules.Rule, m *ruleMessage) (c delivering, problem string) {
	changes, fault := r.Change.Evaluate(m)
	if fault != property.OK {
		return c, fault.String()
	}
	c = f.original(s)
	var list []PropertyChange
	for _, change := range changes {
		if change.System != property.SystemNone {
			if problem = c.set(change.System, change.Value, f.topic.Attributes.FIFO); problem != "" {
				return c, problem
			}
			if name := change.System; name.InSection() {
				list = append(list, PropertyChange{Scope: message.ScopeSystem, Name: name.String(), Value: name.Encode(change.Value)})
			}
			continue
		}
		p := PropertyChange{Scope: message.ScopeApplication, Name: m.NameOf(change.Name)}
		if change.Value.Kind() != property.KindNone {
			p.Value = string(property.Append(nil, change.Value))
		}
		list = append(list, p)
	}
	list = append(list, PropertyChange{Scope: message.ScopeApplication, Name: ruleNameProperty,
		Value: string(property.Append(nil, property.String(r.Name)))})
	c.message.changes = message.MergeChanges(nil, list)
	if err := message.CheckChanges(c.message.changes); err != nil {
		return c, err.Message
	}
	if c.group != "" && c.partition != "" && c.group != c.partition {
		return c, "the partition key differs from the session id"
	}
	return c, ""
}

// set changes the fields of a copy that are properties. It returns the problem if the value is none
// that a message can have.
func (c *delivering) set(p property.System, v property.Value, fifo bool) (problem string) {
	switch p {
	case property.SessionID, property.PartitionKey:
		id := v.Str()
		if p == property.SessionID && v.Kind() == property.KindString && id == "" {
			id = message.EmptyGroup
		}
		if id != "" && !message.ValidNativeGroup(id) {
			return p.String() + " must have 1 to 128 characters without U+0000"
		}
		switch {
		case !fifo: // ids of standard topics have no effect
		case p == property.PartitionKey:
			c.partition = id
		default:
			if c.partition != "" && c.partition == c.group { // it came with the session
				c.partition = id
			}
			c.group = id
		}
	case property.TimeToLive:
		if v.Kind() == property.KindDuration && v.Ticks() < ticksPerMillisecond {
			return "TimeToLive is shorter than a millisecond"
		}
		c.timeToLive = logtime.Duration(v.Ticks() / ticksPerMillisecond)
	case property.ScheduledEnqueueTime:
		c.scheduledAt = Timestamp(v.Millis())
	default:
	}
	return ""
}

const ticksPerMillisecond = 10_000
