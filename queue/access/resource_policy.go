package access

import "github.com/tidwall/btree"

// QueuePolicy returns the policy of a queue, empty if it has none.
func (t *Table) QueuePolicy(queue string) string {
	text, _ := t.ofQueues.Get(queue)
	return text
}

// TopicPolicy returns the policy of a topic, empty if it has none.
func (t *Table) TopicPolicy(topic string) string {
	text, _ := t.ofTopics.Get(topic)
	return text
}

// WithQueuePolicy returns the table with a queue's policy added or replaced; an empty text removes
// it. It copies an attribute of the queue for access without a lock, and is not part of the sum.
func (t *Table) WithQueuePolicy(queue, text string) *Table {
	return t.with(queue, text, func(t *Table) **btree.Map[string, string] { return &t.ofQueues })
}

// WithTopicPolicy is WithQueuePolicy for a topic.
func (t *Table) WithTopicPolicy(topic, text string) *Table {
	return t.with(topic, text, func(t *Table) **btree.Map[string, string] { return &t.ofTopics })
}

func (t *Table) with(name, text string, of func(*Table) **btree.Map[string, string]) *Table {
	if was, _ := (*of(t)).Get(name); was == text {
		return t
	}
	next := *t
	policies := of(&next)
	*policies = (*policies).Copy()
	if text == "" {
		(*policies).Delete(name)
	} else {
		(*policies).Set(name, text)
	}
	return &next
}

// SameResourcePolicies reports whether two tables have the same policies of queues and topics.
func (t *Table) SameResourcePolicies(o *Table) bool {
	return same(t.ofQueues, o.ofQueues) && same(t.ofTopics, o.ofTopics)
}

func same(a, b *btree.Map[string, string]) bool {
	equal := a.Len() == b.Len()
	a.Scan(func(name, text string) bool {
		other, _ := b.Get(name)
		equal = equal && other == text
		return equal
	})
	return equal
}
