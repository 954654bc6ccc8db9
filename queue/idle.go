package queue

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// A queue or topic with AutoDeleteOnIdleSeconds is deleted when it was not used for that long (Service Bus).
// AdvanceClock decides, from the time of the last use in the state. A use of the built-in dead-letter queues of
// a queue counts. Messages that a topic or a dead-letter rule delivers are no use.

// NoteUse records that a client reads a queue, which is then not idle. Other commands on a queue do that,
// too. See View.UnnotedFrom.
type NoteUse struct{ Queue string }

// QueueName implements Command.
func (c *NoteUse) QueueName() string { return c.Queue }

// Validate checks the length of the name.
func (c *NoteUse) Validate() *Error { return checkQueueName(c.Queue) }

func (c *NoteUse) apply(b *Broker) (Result, *Error) {
	if !b.View().QueueExists(c.Queue) {
		return nil, refusal.NoSuchQueue()
	}
	return Done{}, nil
}

// noteUse records the use of a queue by the command being applied.
func (b *Broker) noteUse(name string) {
	if name == "" {
		return
	}
	if changed := b.scratch.changed; len(changed) > 0 && changed[0].name == name {
		changed[0].usedAt = b.now
	} else if q := b.begin(name); q != nil {
		q.usedAt = b.now
	}
}

// UnnotedFrom returns the time from which a read of a queue must be noted, so that no queue or topic of which
// this is a use is deleted as idle. Zero: never.
func (v View) UnnotedFrom(name string) Timestamp {
	q, ok := v.b.queues.Get(name)
	if !ok {
		return 0
	}
	shortest := v.b.idleSeconds(q)
	if parent, ok := v.b.queues.Get(parentOf(name)); ok && slices.Contains(v.b.ownDeadLetters(parent), q) {
		if seconds := v.b.idleSeconds(parent); shortest == 0 || 0 < seconds && seconds < shortest {
			shortest = seconds
		}
	}
	if shortest == 0 {
		return 0
	}
	return q.usedAt.Add(topic.UnnotedUse(shortest))
}

// idleSeconds returns after how long a queue or the topic of its subscription is idle, zero if never.
func (b *Broker) idleSeconds(q *Queue) int64 {
	if q.attributes.ForwardTo != "" {
		return 0
	}
	seconds := q.attributes.AutoDeleteSeconds
	if t, ok := b.topics.Get(topicOfSubscription(q.name)); ok && t.Attributes.AutoDeleteSeconds > 0 {
		if of := t.Attributes.AutoDeleteSeconds; seconds == 0 || of < seconds {
			seconds = of
		}
	}
	return seconds
}

// subscriptionPart separates the names of a topic and its subscription in the name of the queue that a
// Service Bus client made for it.
const subscriptionPart = "_2FSubscriptions_2F"

// topicOfSubscription returns the topic of a queue that a Service Bus client made for a subscription,
// empty for another queue.
func topicOfSubscription(name string) string {
	stem, fifo := strings.CutSuffix(name, ".fifo")
	if at := strings.LastIndex(stem, subscriptionPart); fifo && at >= 0 {
		return stem[:at] + ".fifo"
	}
	return ""
}

// parentOf returns the queue of which a queue with this name would be a built-in dead-letter queue, empty if
// the name is of another form.
func parentOf(name string) string {
	stem, fifo := strings.CutSuffix(name, ".fifo")
	parent, is := strings.CutSuffix(stem, deadLetterSuffix)
	if !is {
		parent, is = strings.CutSuffix(stem, transferSuffix)
	}
	switch {
	case !is:
		return ""
	case fifo:
		return parent + ".fifo"
	}
	return parent
}

// ownDeadLetters returns the built-in dead-letter queues of q.
func (b *Broker) ownDeadLetters(q *Queue) (own []*Queue) {
	name := ImplicitDeadLetterName(q.name)
	if target, _ := q.deadLetterTarget(); target == name {
		if dead, ok := b.queues.Get(name); ok {
			own = append(own, dead)
		}
	}
	if transfer, ok := b.queues.Get(TransferDeadLetterName(q.name)); ok {
		own = append(own, transfer)
	}
	return own
}

// lastUse returns the last use of a queue or its built-in dead-letter queues, since a leader has served.
func (b *Broker) lastUse(q *Queue, since Timestamp) Timestamp {
	used := max(q.usedAt, min(since, b.now))
	for _, dead := range b.ownDeadLetters(q) {
		used = max(used, dead.usedAt)
	}
	return used
}

// idleDeadline returns when the queue is idle, unless it is used until then; zero if never.
func (q *Queue) idleDeadline() Timestamp {
	if q.attributes.AutoDeleteSeconds == 0 || q.attributes.ForwardTo != "" || q.scheduled.Len() > 0 {
		return 0
	}
	return topic.IdleEnd(q.usedAt, q.attributes.AutoDeleteSeconds)
}

func (q *Queue) idle(now Timestamp) bool {
	at := q.idleDeadline()
	return at != 0 && at <= now
}

// endIdle deletes an idle queue, unless its dead letters were used or its time begins anew with the leader.
// It returns the cost.
func (b *Broker) endIdle(q *Queue, since Timestamp) (cost int) {
	if q.usedAt = b.lastUse(q, since); !q.idle(b.now) {
		b.updateDeadline(q)
		return 0
	}
	name := q.name
	cost = b.dropEntity(q)
	b.emit(IdleDeleted, name, 1)
	if t, ok := b.topics.Get(topicOfSubscription(name)); ok {
		if s, ok := t.SubscriptionOf(name); ok {
			b.dropSubscription(t, s)
		}
	}
	return cost
}

// dropEntity deletes a queue that was begun, and the built-in dead-letter queues that only this queue uses.
// It returns the number of queues.
func (b *Broker) dropEntity(q *Queue) (dropped int) {
	own := b.ownDeadLetters(q)
	b.dropQueue(q)
	dropped = 1
	for _, dead := range own {
		if others, err := b.View().DeadLetterSources(dead.name, "", 1); err == nil && len(others) == 0 {
			b.dropQueue(b.begin(dead.name))
			dropped++
		}
	}
	return dropped
}

// endIdleTopics deletes idle topics and returns the remaining budget.
func (b *Broker) endIdleTopics(since Timestamp, budget int) int {
	for budget > 0 {
		name, some := b.topics.Idle(b.now)
		if !some {
			break
		}
		budget -= b.endIdleTopic(b.topics.Begin(name), since)
	}
	return max(0, budget)
}

// endIdleTopic deletes a topic with the queues of its subscriptions, unless one of them was used. It returns
// the cost.
func (b *Broker) endIdleTopic(t *topic.Topic, since Timestamp) (cost int) {
	var own []*Queue
	t.UsedAt = max(t.UsedAt, min(since, b.now))
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		cost++
		if q, ok := b.queues.Get(s.Queue); ok && topicOfSubscription(s.Queue) == t.Name {
			own = append(own, q)
			if t.UsedAt = max(t.UsedAt, b.lastUse(q, since)); q.attributes.ForwardTo != "" { // it receives
				t.UsedAt = b.now
			}
		}
		return true
	})
	if topic.IdleEnd(t.UsedAt, t.Attributes.AutoDeleteSeconds) > b.now {
		b.topics.Finish(b.key)
		return cost + 1
	}
	for _, q := range own {
		if q = b.begin(q.name); q != nil { // else it was the dead-letter queue of another
			cost += b.dropEntity(q)
		}
	}
	b.topics.Finish(b.key)
	b.dropTopic(t)
	b.scratch.events = append(b.scratch.events, Event{Kind: IdleDeleted, Topic: t.Name})
	return cost + 1
}
