package queue

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/topic"
)

// fanOut delivers a publication to every subscription whose filter accepts it, in order of
// subscription: into queues, and into the outbox for URLs. Deliveries are independent: a failed one
// goes to the dead-letter queue of its subscription, or is lost for that subscription (SNS).
func (b *Broker) fanOut(t *topic.Topic, p *topic.Publication) {
	f := &fan{b: b, topic: t, publication: p}
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if !f.filtered.reaches(s, p.Content()) {
			return true
		}
		if s.Attributes.Ends.Protocol.Web() {
			f.enqueue(s)
		} else {
			f.deliver(s)
		}
		return true
	})
}

// fan is one publication being delivered, now or from the archive.
type fan struct {
	b           *Broker
	topic       *topic.Topic
	publication *topic.Publication
	replayed    bool
	filtered    filterInput
}

// filterInput holds a published message in the form that filters read.
type filterInput struct{ message *filter.Message } // nil until the first filter

// reaches reports whether a new publication goes to a subscription.
func (f *filterInput) reaches(s *topic.Subscription, n *notification.Notification) bool {
	return !s.Pending() && s.Attributes.Takes(n.Timestamp) && f.passes(s.Attributes.Filter, n)
}

// passes reports whether a filter lets the message pass.
func (f *filterInput) passes(p *filter.Policy, n *notification.Notification) bool {
	if p == nil {
		return true
	}
	if f.message == nil {
		properties := n.Properties()
		given := make([]filter.Attribute, len(properties))
		for i, a := range properties {
			given[i] = filter.Attribute(a)
		}
		f.message = filter.NewMessage(given, n.Payload())
	}
	return p.Match(f.message)
}

// outcome is the result of a delivery to one queue.
type outcome uint8

const (
	delivered  outcome = iota + 1
	duplicated         // the queue's deduplication dropped the message
	failed
)

// deliver delivers to the queue of a subscription, or to its dead-letter queue. It does not retry:
// topic and queue share one state, so a missing or full queue is a permanent failure.
func (f *fan) deliver(s *topic.Subscription) {
	m := f.message(s)
	// SQS accepts no more attributes. The dead-letter queue keeps all of them, so that the message
	// is not lost.
	tooMany := m.raw && len(f.publication.Content().Attributes) > limits.MessageAttributesMax
	came := failed
	if !tooMany {
		came = f.put(s.Queue, m, needsGroupID)
	}
	switch came {
	case duplicated:
		f.emit(TopicDeliveriesDeduplicated, s.Queue)
	case failed:
		f.deadLetter(s, m)
	case delivered:
	}
}

// message returns the message that the subscription's queues store.
func (f *fan) message(s *topic.Subscription) *publishedMessage {
	return &publishedMessage{publication: f.publication, subscription: f.b.intern(s.ARN), raw: s.Attributes.RawDelivery,
		replayed: f.replayed}
}

// deadLetter delivers a failed message to the dead-letter queue of the subscription, if there is
// one.
func (f *fan) deadLetter(s *topic.Subscription, m *publishedMessage) {
	target, came := deadLetterQueue(f.topic, s), failed
	if target != "" {
		came = f.put(target, m, func(*QueueAttributes) bool { return false })
	}
	switch came {
	case delivered:
		f.emit(TopicDeliveriesDeadLettered, s.Target())
	case duplicated:
		f.emit(TopicDeliveriesDeduplicated, target)
	default:
		f.emit(TopicDeliveriesLost, s.Target())
	}
}

func (f *fan) emit(kind EventKind, queue string) {
	f.b.scratch.events = append(f.b.scratch.events, Event{Kind: kind, Queue: queue, Topic: f.topic.Name, Count: 1})
}

// put stores the message in a queue, and fails if the queue does not exist or has no room. A FIFO
// queue deduplicates by group and effective deduplication id, never by content, because envelopes
// differ between subscriptions. Replayed messages skip deduplication (ours): the queue already
// remembers most of them. The queue's MaximumMessageSize does not apply: SNS checks sizes at the
// publish alone (AWS). needsGroup reports whether the queue refuses a message without a group: a
// dead-letter queue takes every message.
func (f *fan) put(name string, m *publishedMessage, needsGroup func(*QueueAttributes) bool) outcome {
	n := f.publication.Content()
	q, ok := f.b.queues.Get(name)
	if !ok || q.attributes.FIFO && !f.topic.Attributes.FIFO || n.GroupID == "" && needsGroup(&q.attributes) {
		return failed
	}
	if !slices.Contains(f.b.scratch.changed, q) {
		q = f.b.beginNow(name) // once for all entries of a batch: expiry can be slow
	}
	group, partition := n.GroupID, n.PartitionKey
	if q.attributes.FIFO != f.topic.Attributes.FIFO {
		group, partition = "", "" // FIFO topics pass neither to standard queues
	}
	ids := deduplication.IDs{Own: n.DeduplicationID, Group: group, Partition: partition}
	if rules := &q.attributes.Deduplication; q.attributes.FIFO && !rules.Disabled && !f.replayed && ids.Own != "" {
		if _, found := q.deduplication.Find(f.b.key, ids, f.b.now); found {
			return duplicated
		}
		if rules.EntriesMax > 0 && q.deduplication.CountLive(f.b.now)+1 > rules.EntriesMax {
			return failed
		}
		q.deduplication.Remember(f.b.key, ids, q.lastSequence+1, f.b.now)
	}
	s := sending{
		entry: &SendEntry{GroupID: group}, ids: ids, published: m, placing: placing{partition: partition, timeToLive: n.TimeToLive},
	}
	f.b.accept(q, &s, f.b.intern(n.SenderID))
	return delivered
}

// addReplay starts the replay that attributes request, or refuses it. before is the status of an
// earlier replay.
func (b *Broker) addReplay(t *topic.Topic, given []Attribute, before attributes.ReplayStatus) *Error {
	switch {
	case !attributes.AsksForReplay(given):
		return nil
	case t.Attributes.Archive.Days == 0:
		return refusal.SNSInvalid("ReplayPolicy Reason: The topic has no ArchivePolicy, so there is nothing to replay.")
	case !before.Running() && t.Replays() >= limits.ReplaysMax:
		return refusal.New(refusal.ReplayLimitExceeded, "A topic can have ", strconv.Itoa(limits.ReplaysMax),
			" replays at a time. Wait until one is completed, or remove a ReplayPolicy.")
	}
	b.scratch.events = append(b.scratch.events, Event{Kind: ReplayAdded, Topic: t.Name})
	return nil
}

// failReplays ends the replays of a topic whose archive was removed.
func (b *Broker) failReplays(t *topic.Topic) {
	var running []*topic.Subscription
	t.ScanSubscriptions(func(s *topic.Subscription) bool {
		if s.Attributes.ReplayStatus.Running() {
			running = append(running, s)
		}
		return true
	})
	for _, s := range running {
		b.topics.Put(b.key, t, s.WithReplay(attributes.ReplayFailed, 0))
	}
}

// ReplayMessages is one bounded step of a replay. Only the leader proposes it.
type ReplayMessages struct {
	Subscription uint64 // number of the subscription
	Max          int    // 1..ReplayStepMax publications to examine
}

// MessagesReplayed answers ReplayMessages.
type MessagesReplayed struct {
	Looked  int64 // publications that were delivered or filtered out
	Running bool  // more steps remain
}

func (MessagesReplayed) result() {}

// QueueName implements Command.
func (*ReplayMessages) QueueName() string { return "" }

// Validate checks the size of the step.
func (c *ReplayMessages) Validate() *Error {
	if c.Max < 1 || c.Max > limits.ReplayStepMax {
		return refusal.SNSInvalid("a step of a replay looks at 1 to ", strconv.Itoa(limits.ReplayStepMax), " messages")
	}
	return nil
}

// apply delivers the next publications of the archive. The step that reaches the end completes the
// replay, and later publications are delivered directly: none is lost, repeated or out of order. A
// replay to a missing queue fails.
func (c *ReplayMessages) apply(b *Broker) (Result, *Error) {
	t, s, ok := b.topics.SubscriptionOfNumber(c.Subscription)
	if !ok || !s.Attributes.ReplayStatus.Running() {
		return MessagesReplayed{}, nil
	}
	t = b.beginTopic(t.Name)
	if _, exists := b.queues.Get(s.Queue); !exists {
		b.topics.Put(b.key, t, s.WithReplay(attributes.ReplayFailed, 0))
		return MessagesReplayed{}, nil
	}
	from := s.ReplayNext
	if s.Attributes.ReplayStatus == attributes.ReplayPending {
		from = t.FirstArchived(s.Attributes.Replay.Start)
	}
	begin, replay := t.ArchiveBegin(b.now), &s.Attributes.Replay
	looked, next := int64(0), uint64(0)
	t.ScanArchive(from, func(p *topic.Publication) bool {
		n := p.Content()
		if replay.Ends && n.Timestamp > replay.End {
			return false
		}
		if looked == int64(c.Max) {
			next = uint64(n.SequenceNumber)
			return false
		}
		looked++
		if f := (fan{b: b, topic: t, publication: p, replayed: true}); n.Timestamp >= begin && f.filtered.passes(s.Attributes.Filter, n) {
			f.deliver(s)
		}
		return true
	})
	status := attributes.ReplayCompleted
	if next != 0 {
		status = attributes.ReplayInProgress
	}
	b.topics.Put(b.key, t, s.WithReplay(status, next))
	return MessagesReplayed{Looked: looked, Running: next != 0}, nil
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
		f.deadLetter(s, f.message(s))
		return
	}
	f.b.addDelivery(&outbox.Item{Subscription: s.Number, Number: f.topic.LastSequence, Publication: f.publication, DueAt: f.b.now})
	f.topic.Keep(1, f.publication.SentBytes())
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
		f.deadLetter(s, f.message(s))
	}
	if i.Publication != nil {
		t.Keep(-1, -i.Publication.SentBytes())
	}
	b.outbox.Drop(b.key, r.Subscription, r.Number)
}
