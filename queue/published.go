package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// publishedMessage refers to the publication that a message shares with other deliveries, instead
// of a body and attributes. It never changes.
type publishedMessage struct {
	publication  *topic.Publication
	subscription *string // ARN, shared by the subscription's messages
	raw          bool
	replayed     bool // from the topic's archive
	// changes are those of a rule, sorted. An envelope shows the changed properties.
	changes []PropertyChange
}

// text returns the body for a receiver. The envelope is built for each receive and is always equal.
func (p *publishedMessage) text() Body {
	n := p.publication.Content()
	if p.raw {
		return n.Message
	}
	return message.NewBody(n.Envelope(notification.Delivery{
		SubscriptionARN: *p.subscription, Replayed: p.replayed, Changes: p.changes,
	}))
}

// attributes returns the message attributes for a receiver. An envelope contains them instead. A
// replayed raw message gets the attribute Replayed, which replaces one of the publisher's.
func (p *publishedMessage) attributes() []MessageAttribute {
	if !p.raw {
		return nil
	}
	given := p.publication.Content().Attributes
	if !p.replayed {
		return given
	}
	all := make([]MessageAttribute, 0, len(given)+1)
	for _, a := range given {
		if a.Name != attributeReplayed {
			all = append(all, a)
		}
	}
	return append(all, MessageAttribute{Name: attributeReplayed, DataType: "String", Value: "true"})
}

const attributeReplayed = "Replayed"

// encoded returns the parts of the message for a receiver, with the changes in own, which may be nil.
// An envelope is text.
func (p *publishedMessage) encoded(own *Encoded) *Encoded {
	if !p.raw {
		return own
	}
	changes := p.changes
	if own != nil {
		changes = message.MergeChanges(changes, own.Changes)
	}
	return p.publication.Content().Changed(changes)
}

// published returns the publication of a message, nil if it was sent to the queue.
func (m *Message) published() *publishedMessage {
	if m.extra == nil {
		return nil
	}
	return m.extra.published
}

// carriedBytes estimates the bytes of a delivery. Receives depend on it, so it must not depend on
// the location of the body.
func (m *Message) carriedBytes() int64 {
	n := m.size() + int64(m.body.Len()-m.body.MemoryLen())
	if p := m.published(); p != nil {
		n += int64(p.publication.Content().Message.Len()) + p.publication.Content().Encoded.Size() + p.changesBytes()
	}
	return n
}

// contentBytes returns the bytes of body and attributes.
func (m *Message) contentBytes() int64 {
	n := int64(m.body.Len())
	if m.extra == nil {
		return n
	}
	n += message.Size("", m.extra.attributes) + m.extra.encoded.Size()
	if p := m.published(); p != nil {
		n += p.publication.SentBytes() + p.changesBytes()
	}
	return n
}

func (p *publishedMessage) changesBytes() int64 { return (&Encoded{Changes: p.changes}).Size() }

// use adds messages to the account's usage.
func (q *Queue) use(messages, bytes int64) {
	q.sums.usage.Messages += messages
	q.sums.usage.Bytes += bytes
	q.sums.contentBytes += bytes
}

// hold counts a message that the queue stores.
func (q *Queue) hold(m *Message) {
	q.sums.messageBytes += m.size()
	q.use(1, m.contentBytes())
	if m.body.Stored() {
		q.bodies.Hold(m.body)
		q.sums.stored++
	}
	if p := m.published(); p != nil {
		p.publication.Hold()
		q.sums.published++
	}
}

// release reverses hold.
func (q *Queue) release(m *Message) {
	q.sums.messageBytes -= m.size()
	q.use(-1, -m.contentBytes())
	if m.body.Stored() {
		q.bodies.Free(m.body)
		q.sums.stored--
	}
	if p := m.published(); p != nil {
		p.publication.Release()
		q.sums.published--
	}
}

// releases lists dropped messages, archives and HTTP deliveries whose bodies and publications still
// count references to them. A purge must take constant time, so later commands release a bounded
// number each. Only the estimated size of the state depends on it: a restored replica has nothing
// to release.
type releases struct {
	pending []droppedMessages
	others  []droppedPublications
}

func (r *releases) some() bool { return len(r.pending)+len(r.others) > 0 }

// droppedPublications is a topic.Dropped or an outbox.Dropped.
type droppedPublications interface {
	// Release releases at most budget publications. It returns the remaining budget and whether it
	// is done.
	Release(budget int) (left int, over bool)
	// Scan visits the publications that are not released yet.
	Scan(visit func(*topic.Publication))
}

type droppedMessages struct {
	messages *messageMap
	bodies   message.Store
	next     uint64 // lower numbers are released
}

const (
	releaseBudget      = 256  // messages per command
	releaseClockBudget = 4096 // messages per AdvanceClock, which an idle leader proposes for it
)

// drop adds the messages of a queue. Call it before they are cleared.
func (r *releases) drop(q *Queue) {
	if q.sums.published+q.sums.stored == 0 {
		return
	}
	for _, messages := range []*messageMap{q.messages, q.scheduled, q.deferred} {
		r.pending = append(r.pending, droppedMessages{messages: messages, bodies: q.bodies})
	}
}

// dropPublications adds the archive or the schedule that a topic lost.
func (r *releases) dropPublications(d topic.Dropped) {
	if !d.Empty() {
		r.others = append(r.others, &d)
	}
}

// dropDeliveries drops the deliveries to a deleted subscription.
func (b *Broker) dropDeliveries(t *topic.Topic, subscription uint64) {
	if d := b.outbox.DropAll(subscription); d != nil {
		t.Keep(-d.Kept.Messages, -d.Kept.Bytes)
		b.releases.others = append(b.releases.others, d)
	}
}

// step releases at most budget messages and publications.
func (r *releases) step(budget int) {
	for budget > 0 && len(r.pending) > 0 {
		first, over := &r.pending[0], true
		first.messages.Ascend(first.next, func(sequence uint64, m *Message) bool {
			if budget == 0 {
				first.next, over = sequence, false
				return false
			}
			budget--
			if p := m.published(); p != nil {
				p.publication.Release()
			}
			if m.body.Stored() {
				first.bodies.Free(m.body)
			}
			return true
		})
		if over {
			*first = droppedMessages{}
			r.pending = r.pending[1:]
		}
	}
	for budget > 0 && len(r.others) > 0 {
		left, over := r.others[0].Release(budget)
		if budget = left; over {
			r.others[0] = nil
			r.others = r.others[1:]
		}
	}
}

// scan visits the publications that are not released yet.
func (r *releases) scan(visit func(*topic.Publication)) {
	for _, d := range r.pending {
		d.messages.Ascend(d.next, func(_ uint64, m *Message) bool {
			if p := m.published(); p != nil {
				visit(p.publication)
			}
			return true
		})
	}
	for _, d := range r.others {
		d.Scan(visit)
	}
}

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
