package description

import "github.com/seriatimq/seriatim/queue/rules"

// Entity is an entity with the properties that are not left to their defaults.
type Entity struct {
	Path          string // the name of a subscription
	Properties    []Property
	Subscriptions []Entity // of a topic
	// Rules are those of a subscription. Nil is the default rule.
	Rules []rules.Definition
}

// HasRules reports whether a subscription has other rules than the default.
func (e *Entity) HasRules() bool {
	return e.Rules != nil && (len(e.Rules) != 1 || e.Rules[0].Kind != rules.KindTrue || e.Rules[0].Action != nil)
}

// Queue returns the properties of the queue. Refused properties have their defaults.
func (e *Entity) Queue() (q Queue, refused []*Refused) {
	q = Default()
	return q, Queues.SetAll(&q, e.Properties)
}

// Topic is Queue for a topic.
func (e *Entity) Topic() (t Topic, refused []*Refused) {
	t = DefaultTopic()
	return t, Topics.SetAll(&t, e.Properties)
}

// Subscription is Queue for a subscription.
func (e *Entity) Subscription() (q Queue, refused []*Refused) {
	q = DefaultSubscription()
	return q, Subscriptions.SetAll(&q, e.Properties)
}
