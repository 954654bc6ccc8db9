package access

import "github.com/tidwall/btree"

// QueuePolicy is the policy of a queue, empty if it has none.
func (t *Table) QueuePolicy(queue string) string {
	text, _ := t.ofQueues.Get(queue)
	return text
}

// TopicPolicy is the policy of a topic, empty if it has none.
func (t *Table) TopicPolicy(topic string) string {
	text, _ := t.ofTopics.Get(topic)
	return text
}

// WithQueuePolicy is the table with the policy of a queue, which is an attribute of the
// queue: it is here for requests to find it without a lock, and is no part of the sum. An
// empty text is that of a queue without one, or of none.
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
