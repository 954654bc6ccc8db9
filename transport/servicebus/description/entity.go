package description

// Entity is an entity with the properties that are not left to their defaults.
type Entity struct {
	Path          string // the name of a subscription
	Properties    []Property
	Subscriptions []Entity // of a topic
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
