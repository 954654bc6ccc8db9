package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// addDelivery adds an item to the outbox and notifies the leader.
func (b *Broker) addDelivery(i *outbox.Item) {
	b.outbox.Put(b.key, i)
	b.scratch.events = append(b.scratch.events, Event{Kind: DeliveryAdded, Subscription: i.Subscription})
}

// enqueue adds the message to the outbox. If the outbox of the subscription is full, the message
// goes to the dead-letter queue. Without such a queue, checkOutbox refused the publish; only the
// last entries of a batch can exceed the limit.
func (f *fan) enqueue(s *topic.Subscription) {
	if f.b.outboxFull(s.Number, 1) && f.b.hasDeadLetterQueue(f.topic, s) {
		f.deadLetterWeb(s)
		return
	}
	f.b.addDelivery(&outbox.Item{Subscription: s.Number, Number: f.topic.LastSequence, Publication: f.publication, DueAt: f.b.now})
	f.topic.Keep(1, f.publication.SentBytes())
}

// deadLetterWeb delivers a message that a URL did not take to the dead-letter queue of the subscription.
func (f *fan) deadLetterWeb(s *topic.Subscription) {
	c, first := f.original(s), outcome(0)
	f.deadLetter(s, &c, deadLetterQueue(f.topic, s), &first)
}

// checkOutbox refuses a publish that exceeds the limits of the outbox, so that an endpoint that is
// down cannot exhaust the memory. Accepted messages are never dropped.
func (b *Broker) checkOutbox(t *topic.Topic, entries int) (refused *Error) {
	if b.outbox.Len()+entries <= limits.OutboxMax && b.outbox.ContentBytes() < limits.OutboxBytesMax {
		return nil
	}
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if b.outboxFull(s.Number, entries) && !b.hasDeadLetterQueue(t, s) {
			refused = refusal.New(refusal.Throttled, "The subscription ", s.ARN, " has ", strconv.Itoa(b.outbox.LenOf(s.Number)),
				" messages that its endpoint has not taken yet, and no dead-letter queue. Nothing was published: retry "+
					"later, set a RedrivePolicy, or remove the subscription.")
		}
		return refused == nil
	})
	return refused
}

func (b *Broker) outboxFull(subscription uint64, entries int) bool {
	return b.outbox.LenOf(subscription)+entries > limits.OutboxMax || b.outbox.ContentBytesOf(subscription) >= limits.OutboxBytesMax
}

// hasDeadLetterQueue reports whether failed deliveries can go to a queue. Only standard topics have
// URLs, and they cannot deliver to FIFO queues.
func (b *Broker) hasDeadLetterQueue(t *topic.Topic, s *topic.Subscription) bool {
	q, ok := b.queues.Get(deadLetterQueue(t, s))
	return ok && !q.attributes.FIFO
}

// ReportDeliveries records the results of HTTP deliveries. Only the leader delivers and proposes
// it.
type ReportDeliveries struct{ Reports []DeliveryReport }

// DeliveryReport is the result of one attempt.
type DeliveryReport struct {
	Subscription uint64 // number of the subscription
	Number       uint64 // number of the delivery
	Attempts     uint32 // failed attempts before this one
	Outcome      DeliveryOutcome
}

// DeliveryOutcome is the result of an attempt.
type DeliveryOutcome uint8

// Outcomes. The log contains the numbers.
const (
	DeliveryDone    DeliveryOutcome = 1
	DeliveryFailed  DeliveryOutcome = 2 // another attempt may succeed
	DeliveryRefused DeliveryOutcome = 3 // the subscriber rejected the message
)

// QueueName implements Command.
func (*ReportDeliveries) QueueName() string { return "" }

// Validate checks the reports.
func (c *ReportDeliveries) Validate() *Error {
	if len(c.Reports) == 0 || len(c.Reports) > limits.DeliveryReportsMax {
		return refusal.SNSInvalid("a command has 1 to ", strconv.Itoa(limits.DeliveryReportsMax), " reports of deliveries")
	}
	for i := range c.Reports {
		if o := c.Reports[i].Outcome; o < DeliveryDone || o > DeliveryRefused {
			return refusal.SNSInvalid("a report has an unknown outcome")
		}
	}
	return nil
}

// apply removes completed deliveries and schedules retries. Reports of superseded attempts change
// nothing.
func (c *ReportDeliveries) apply(b *Broker) (Result, *Error) {
	for i := range c.Reports {
		b.report(&c.Reports[i])
	}
	return Done{}, nil
}

// report applies one report. After the last attempt the message goes to the dead-letter queue of
// the subscription, or is lost for that subscription.
func (b *Broker) report(r *DeliveryReport) {
	i, ok := b.outbox.Get(r.Subscription, r.Number)
	if !ok || i.Attempts != r.Attempts {
		return
	}
	t, s, _ := b.topics.SubscriptionOfNumber(r.Subscription)
	if r.Outcome == DeliveryFailed {
		retry, _ := policy.EffectiveDelivery(t.Attributes.DeliveryPolicy, s.Attributes.Delivery)
		if delay, again := retry.After(int64(i.Attempts) + 1); again {
			later := *i
			later.Attempts, later.DueAt = i.Attempts+1, b.now.Add(delay)
			b.outbox.Put(b.key, &later)
			return
		}
	}
	if r.Outcome != DeliveryDone && i.Publication != nil {
		f := &fan{b: b, topic: t, publication: i.Publication}
		f.deadLetterWeb(s)
	}
	if i.Publication != nil {
		t.Keep(-1, -i.Publication.SentBytes())
	}
	b.outbox.Drop(b.key, r.Subscription, r.Number)
}
