package queue

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/notification"
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
	typed       *notification.Typed // nil until the first rule
	unreadable  error               // of typed
	ruled       ruleMessage         // with typed
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
	ungrouped          // the queue needs a group
	failed
)

// deliver delivers the copies that the rules of a subscription select to its queue, or to its
// dead-letter queue.
func (f *fan) deliver(s *topic.Subscription) {
	if s.Rules == nil {
		f.deliverCopies(s, []delivering{f.original(s)})
		return
	}
	copies, why := f.selected(s)
	f.deliverCopies(s, copies)
	switch {
	case why == nil:
	case s.Attributes.DropFaulty:
		f.emit(TopicDeliveriesLost, s.Target())
	default:
		f.deadLetterFor(s, why)
	}
}

// deliverCopies does not retry: topic and queue share one state, so a missing or full queue is a
// permanent failure.
func (f *fan) deliverCopies(s *topic.Subscription, copies []delivering) {
	var first, firstDead outcome
	for i := range copies {
		c := &copies[i]
		// SQS accepts no more attributes. The dead-letter queue keeps all of them, so that the message
		// is not lost.
		tooMany := c.message.raw && len(f.publication.Content().Attributes) > limits.MessageAttributesMax
		came := failed
		if !tooMany {
			came = f.put(s.Queue, c, needsGroupID, &first)
		}
		switch came {
		case duplicated:
			f.emit(TopicDeliveriesDeduplicated, s.Queue)
		case failed:
			f.deadLetter(s, c, deadLetterQueue(f.topic, s), &firstDead)
		case ungrouped:
			f.deadLetterFor(s, ungroupedReason.attributes())
		case delivered:
		}
	}
}

// ungroupedReason is that of Service Bus for a message without a session.
var ungroupedReason = DeadLetterEntry{
	Reason:      "Session id is null.",
	Description: "Session enabled entity doesn't allow a message whose session identifier is null.",
}

// message returns the message that the subscription's queues store.
func (f *fan) message(s *topic.Subscription) *publishedMessage {
	return &publishedMessage{publication: f.publication, subscription: f.b.intern(s.ARN), raw: s.Attributes.RawDelivery,
		replayed: f.replayed}
}

// deadLetterFor delivers a message that a subscription cannot take, with the reason: to the dead-letter
// queue of the subscription, or else to that of its queue.
func (f *fan) deadLetterFor(s *topic.Subscription, why []MessageAttribute) {
	target := deadLetterQueue(f.topic, s)
	if q, ok := f.b.queues.Get(s.Queue); ok && target == "" {
		if own := f.b.redriveRule(q).target; own != nil {
			target = own.name
		}
	}
	c := f.original(s)
	c.timeToLive, c.why = 0, why // a dead letter does not expire (Service Bus)
	if target != s.Queue {
		c.source = s.Queue
	}
	var first outcome
	f.deadLetter(s, &c, target, &first)
}

// deadLetter delivers a failed message to a dead-letter queue, if there is one.
func (f *fan) deadLetter(s *topic.Subscription, c *delivering, target string, first *outcome) {
	came := failed
	if target != "" {
		came = f.put(target, c, func(*QueueAttributes) bool { return false }, first)
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
// differ between subscriptions. first is the outcome of the first copy for the queue: its
// deduplication decides about all copies of a publication together. Replayed messages skip
// deduplication (ours): the queue already remembers most of them. The queue's MaximumMessageSize does
// not apply: SNS checks sizes at the publish alone (AWS). needsGroup reports whether the queue refuses a
// message without a group: a dead-letter queue takes every message.
func (f *fan) put(name string, c *delivering, needsGroup func(*QueueAttributes) bool, first *outcome) outcome {
	n := f.publication.Content()
	q, ok := f.b.queues.Get(name)
	switch {
	case !ok || q.attributes.FIFO && !f.topic.Attributes.FIFO:
		return failed
	case c.group == "" && needsGroup(&q.attributes):
		return ungrouped
	case *first == duplicated:
		return duplicated
	}
	if !slices.Contains(f.b.scratch.changed, q) {
		q = f.b.beginNow(name) // once for all entries of a batch: expiry can be slow
	}
	s := sending{entry: &SendEntry{GroupID: c.group}, published: c.message, deadLetterSource: c.source, placing: placing{
		attributes: c.why, partition: c.partition, timeToLive: c.timeToLive, scheduledAt: c.scheduledAt, hops: n.Hops,
	}}
	if q.attributes.FIFO != f.topic.Attributes.FIFO { // FIFO topics pass no ids to standard queues
		s.entry.GroupID, s.placing.partition, s.placing.scheduledAt = "", "", 0
	}
	s.ids = deduplication.IDs{Own: n.DeduplicationID, Group: s.entry.GroupID, Partition: s.placing.partition}
	if came := f.deduplicate(q, s.ids, *first); came != delivered {
		return came
	}
	f.b.accept(q, &s, f.b.intern(n.SenderID))
	*first = delivered
	return delivered
}

// deduplicate remembers the ids of a publication in a queue, unless it was delivered there before.
func (f *fan) deduplicate(q *Queue, ids deduplication.IDs, first outcome) outcome {
	rules := &q.attributes.Deduplication
	if !q.attributes.FIFO || rules.Disabled || f.replayed || ids.Own == "" || first == delivered {
		return delivered
	}
	if _, found := q.deduplication.Find(f.b.key, ids, f.b.now); found {
		return duplicated
	}
	if rules.EntriesMax > 0 && q.deduplication.CountLive(f.b.now)+1 > rules.EntriesMax {
		return failed
	}
	q.deduplication.Remember(f.b.key, ids, q.lastSequence+1, f.b.now)
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
