package description

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/rules"
)

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

// InOrder returns queues in an order in which each queue follows those to which it forwards.
func InOrder(queues []Entity) []Entity {
	places := make(map[string]int, len(queues))
	for i := range queues {
		places[strings.ToLower(queues[i].Path)] = i
	}
	ordered, added := make([]Entity, 0, len(queues)), make([]bool, len(queues))
	var add func(i int)
	add = func(i int) {
		if added[i] {
			return
		}
		added[i] = true
		q, _ := queues[i].Queue()
		for _, to := range [2]Forward{q.ForwardTo, q.ForwardDeadLetters} {
			if before, ok := places[strings.ToLower(to.Path)]; ok {
				add(before)
			}
		}
		ordered = append(ordered, queues[i])
	}
	for i := range queues {
		add(i)
	}
	return ordered
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
