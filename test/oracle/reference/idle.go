package reference

import (
	"slices"
	"strings"
)

// idleEnd returns when an entity is deleted that is not used after a time (servicebus.md 5.2): a tenth of the
// interval later, for which a read need not be known.
func idleEnd(usedAt, seconds int64) int64 { return usedAt + seconds*1100 }

// Use records a command of a client on a queue.
func (b *Broker) Use(name string) {
	if q := b.queues[name]; q != nil {
		q.usedAt = b.now
	}
}

// idleAt returns when a queue is idle; 0: never.
func (q *Queue) idleAt() int64 {
	if q.Settings.AutoDelete == 0 || q.Settings.ForwardTo != "" || slices.ContainsFunc(q.messages, func(m *Message) bool {
		return m.Scheduled
	}) {
		return 0
	}
	return idleEnd(q.usedAt, q.Settings.AutoDelete)
}

// idleAt returns when a topic is idle, as far as its subscriptions are not used; 0: never.
func (t *Topic) idleAt() int64 {
	if t.settings.autoDelete == 0 || t.settings.archiveDays > 0 || len(t.scheduled) > 0 {
		return 0
	}
	return idleEnd(t.usedAt, t.settings.autoDelete)
}

// topicOf returns the name of the topic of a Service Bus subscription with a queue.
func topicOf(queue string) string {
	base, fifo := strings.CutSuffix(queue, ".fifo")
	at := strings.LastIndex(base, "_2FSubscriptions_2F")
	if at < 0 || !fifo {
		return ""
	}
	return base[:at] + ".fifo"
}

// DeleteIdle deletes the queues and topics that are idle now. Time before since does not count.
func (b *Broker) DeleteIdle(since int64) {
	since = min(since, b.now)
	for _, q := range b.Queues() {
		if end := q.idleAt(); end == 0 || end > b.now {
			continue
		}
		if b.queues[q.Name] != q { // it went with its parent
			continue
		}
		if q.usedAt = b.lastUse(q, since); q.idleAt() > b.now {
			continue
		}
		b.dropEntity(q)
		if t := b.topics[topicOf(q.Name)]; t != nil {
			before := len(t.Subscriptions)
			t.Subscriptions = slices.DeleteFunc(t.Subscriptions, func(s *Subscription) bool { return s.Queue == q.Name })
			if len(t.Subscriptions) < before {
				t.usedAt = b.now
			}
		}
	}
	for _, t := range b.Topics() {
		if end := t.idleAt(); end != 0 && end <= b.now {
			b.endTopic(t, since)
		}
	}
}

// endTopic deletes a topic with the queues of its subscriptions, unless one was used.
func (b *Broker) endTopic(t *Topic, since int64) {
	t.usedAt = max(t.usedAt, since)
	var own []*Queue
	for _, s := range t.Subscriptions {
		q := b.queues[s.Queue]
		if q == nil || topicOf(s.Queue) != t.Name {
			continue
		}
		own = append(own, q)
		if t.usedAt = max(t.usedAt, b.lastUse(q, since)); q.Settings.ForwardTo != "" {
			t.usedAt = b.now
		}
	}
	if t.idleAt() > b.now {
		return
	}
	for _, q := range own {
		if b.queues[q.Name] == q {
			b.dropEntity(q)
		}
	}
	delete(b.topics, t.Name)
}

// deadLettersOf returns the built-in dead-letter queues of q.
func (b *Broker) deadLettersOf(q *Queue) (all []*Queue) {
	if dead := b.queues[implicitName(q.Name)]; dead != nil && q.redrive().Target == dead.Name {
		all = append(all, dead)
	}
	if transfer := b.queues[transferName(q.Name)]; transfer != nil {
		all = append(all, transfer)
	}
	return all
}

// lastUse is the last use of a queue or its built-in dead-letter queues, at the earliest since.
func (b *Broker) lastUse(q *Queue, since int64) int64 {
	for _, dead := range b.deadLettersOf(q) {
		since = max(since, dead.usedAt)
	}
	return max(q.usedAt, since)
}

// dropEntity deletes a queue with its built-in dead-letter queues, unless another queue uses them.
func (b *Broker) dropEntity(q *Queue) {
	own := b.deadLettersOf(q)
	b.drop(q)
	for _, dead := range own {
		if !slices.ContainsFunc(b.Queues(), func(other *Queue) bool { return other.redrive().Target == dead.Name }) {
			b.drop(dead)
		}
	}
}

func (b *Broker) drop(q *Queue) {
	forget(q.messages)
	delete(b.queues, q.Name)
	b.tasks = slices.DeleteFunc(b.tasks, func(t *MoveTask) bool { return t.Source == q.Name })
}
