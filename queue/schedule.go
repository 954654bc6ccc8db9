package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// SendOptions are options of a message beyond the APIs of SQS and SNS. They need no reserved message
// attributes.
type SendOptions struct {
	// EnqueueAt is the time of the first delivery. Zero or a past time means now.
	EnqueueAt Timestamp
	// PartitionKey must equal the group id if both are given.
	PartitionKey string
	// TimeToLive is the time in which the message can be received; zero: as the queue says.
	TimeToLive logtime.Duration
}

// check checks the options of a message with a group id, empty for none.
func (o *SendOptions) check(group string) *Error {
	if o.TimeToLive < 0 {
		return refusal.InvalidValue(strconv.FormatInt(int64(o.TimeToLive), 10), "TimeToLive", "Must be a positive number of milliseconds.")
	}
	if !message.ValidScheduledTime(o.EnqueueAt) {
		return refusal.InvalidValue(strconv.FormatInt(int64(o.EnqueueAt), 10), "EnqueueAt",
			"Must be a number of milliseconds since 1970, before the year 10000.")
	}
	if o.PartitionKey == "" {
		return nil
	}
	if !message.ValidNativeGroup(o.PartitionKey) {
		return message.InvalidNativeID(o.PartitionKey, "PartitionKey")
	}
	if group != "" && o.PartitionKey != group {
		return refusal.InvalidValue(o.PartitionKey, "PartitionKey", "It must be equal to the MessageGroupId if both are given.")
	}
	return nil
}

// placing says when a message is delivered, for how long, and in which partition.
type placing struct {
	attributes  []MessageAttribute // without reserved ones
	scheduledAt Timestamp          // zero: at once
	partition   string
	timeToLive  logtime.Duration // zero: not asked for
	hops        uint8            // of a message that was forwarded
}

// placingOf reads the options of a message, and its reserved attributes if reserved is set
// (servicebus.md 5.3). Options override them.
func placingOf(given []MessageAttribute, group string, o *SendOptions, reserved bool) (p placing, err *Error) {
	p.attributes = given
	if reserved {
		p.scheduledAt, p.partition, p.attributes, err = message.SplitReserved(given)
		if err == nil && p.partition != "" && group != "" && p.partition != group {
			err = refusal.InvalidValue(p.partition, message.PartitionKeyName, "It must be equal to MessageGroupId when both are given.")
		}
	}
	if err != nil || o == nil {
		return p, err
	}
	if o.EnqueueAt != 0 {
		p.scheduledAt = o.EnqueueAt
	}
	if o.PartitionKey != "" {
		p.partition = o.PartitionKey
	}
	p.timeToLive = o.TimeToLive
	return p, nil
}

// fifoOnly refuses a FIFO feature on a standard queue.
func fifoOnly(what string) *Error {
	return refusal.New(refusal.UnsupportedOperation, what, " are only available on FIFO queues.")
}

// fifoTopicOnly is fifoOnly for a topic.
func fifoTopicOnly(what string) *Error {
	return refusal.New(refusal.UnsupportedOperation, what, " are only available on FIFO topics.")
}

func (q *Queue) insertScheduled(k statehash.Key, m *Message) {
	q.scheduled.Set(m.sequence, m)
	q.scheduledByTime.Set(timed{m.delivery.visibleAt, m.sequence})
	q.sums.messages.Add(m.sum(k, q.incarnation, true))
	q.hold(m)
}

func (q *Queue) removeScheduled(k statehash.Key, m *Message) {
	q.scheduled.Delete(m.sequence)
	q.scheduledByTime.Delete(timed{m.delivery.visibleAt, m.sequence})
	q.sums.messages.Sub(m.sum(k, q.incarnation, true))
	q.release(m)
}

// scheduledMessage returns the scheduled message with a number, nil if there is none. A due message
// is no longer scheduled, even before expiry enqueues it.
func (q *Queue) scheduledMessage(sequence uint64, now Timestamp) *Message {
	m, ok := q.scheduled.Get(sequence)
	if !ok || m.delivery.visibleAt <= now {
		return nil
	}
	return m
}

func (q *Queue) isScheduled(sequence uint64, now Timestamp) bool {
	return q.scheduledMessage(sequence, now) != nil
}

// activateScheduled enqueues due messages as if they were sent at that time, each with a new
// sequence number (Service Bus). The queue's delay does not apply to them.
func (b *Broker) activateScheduled(q *Queue, budget int) int {
	for ; budget > 0; budget-- {
		t, ok := q.scheduledByTime.Min()
		if !ok || t.at > b.now {
			break
		}
		old, _ := q.scheduled.Get(t.sequence)
		q.removeScheduled(b.key, old)
		q.usedAt = max(q.usedAt, t.at)
		m := *old.detached()
		q.lastSequence++
		m.sequence = q.lastSequence
		m.sentAt = t.at
		if newest, ok := q.messages.Max(); ok {
			m.sentAt = max(m.sentAt, newest.sentAt)
		}
		if newest, ok := q.deferred.Max(); ok {
			m.sentAt = max(m.sentAt, newest.sentAt)
		}
		extra := messageExtra{}
		if m.extra != nil {
			extra = *m.extra
		}
		extra.id = old.id(b.key, q.incarnation)
		m.extra = &extra
		m.group = q.groups.intern(m.group)
		m.seal(b.key)
		q.insert(b.key, &m)
	}
	return budget
}

// CancelScheduled deletes scheduled messages of a queue or a topic by the sequence numbers of their
// acceptance. A message that was enqueued or published has a new number.
type CancelScheduled struct {
	Queue     string // empty: Topic is set
	Topic     string
	Sequences []SequenceNumber
	// ForgetDeduplicationID lets the ids of the cancelled messages be sent again at once.
	ForgetDeduplicationID bool
}

// QueueName implements Command.
func (c *CancelScheduled) QueueName() string { return c.Queue }

// Validate checks the name and the number of sequence numbers.
func (c *CancelScheduled) Validate() *Error {
	if c.Topic == "" {
		if err := checkQueueName(c.Queue); err != nil {
			return err
		}
	} else if err := c.checkTopic(); err != nil {
		return err
	}
	return CheckEntryCount(len(c.Sequences), "sequence number")
}

func (c *CancelScheduled) checkTopic() *Error {
	switch {
	case c.Queue != "":
		return refusal.InvalidParameter("Name a queue or a topic, not both.")
	case !isFIFOName(c.Topic):
		return fifoTopicOnly("Scheduled messages")
	}
	return checkTopic(c.Topic)
}

// apply cancels each message on its own.
func (c *CancelScheduled) apply(b *Broker) (Result, *Error) {
	cancel := b.cancelPublish
	if c.Topic != "" {
		if b.beginTopic(c.Topic) == nil {
			return nil, refusal.NoSuchTopic()
		}
	} else {
		if b.beginNow(c.Queue) == nil {
			return nil, refusal.NoSuchQueue()
		}
		cancel = b.cancelSend
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Sequences))}
	for i, sequence := range c.Sequences {
		if !cancel(c, uint64(sequence)) {
			out.Errs[i] = refusal.New(refusal.MessageNotFound, "There is no scheduled message with the sequence number ", sequence.String(),
				".")
		}
	}
	return out, nil
}

// cancelSend cancels a message of a queue and reports whether there is one.
func (b *Broker) cancelSend(c *CancelScheduled, sequence uint64) bool {
	q, _ := b.queues.Get(c.Queue)
	m := q.scheduledMessage(sequence, b.now)
	if m == nil {
		return false
	}
	if c.ForgetDeduplicationID { // before the body is freed
		q.deduplication.ForgetMessage(b.key, b.idsOf(m), m.sequence)
		q.forgotAt = b.now
	}
	q.removeScheduled(b.key, m)
	return true
}

// idsOf returns all ids under which the message may be remembered, under any rules.
func (b *Broker) idsOf(m *Message) deduplication.IDs {
	partition := ""
	if m.extra != nil {
		partition = m.extra.partition
	}
	return allIDs(m.deduplicationID, b.textOf(m.body), m.group, partition)
}

func allIDs(own, text, group, partition string) deduplication.IDs {
	sum := sha256.Sum256([]byte(text))
	return deduplication.IDs{Own: own, Content: hex.EncodeToString(sum[:]), Group: group, Partition: partition}
}

// cancelPublish is cancelSend for a topic.
func (b *Broker) cancelPublish(c *CancelScheduled, sequence uint64) bool {
	t, _ := b.topics.Get(c.Topic)
	p := t.Scheduled(sequence, b.now)
	if p == nil {
		return false
	}
	if n := p.Content(); c.ForgetDeduplicationID {
		t.Deduplication.ForgetMessage(b.key, allIDs(n.DeduplicationID, n.Message.String(), n.GroupID, n.PartitionKey), sequence)
		t.ForgotAt = b.now
	}
	t.Unschedule(b.key, p)
	return true
}

// publishBudget bounds the deliveries of scheduled messages that come before one command.
const publishBudget = 256

// publishScheduled publishes the scheduled messages of topics that are due, as if each was published
// now: with a new sequence number, but the MessageId of its acceptance. Every command does this first,
// so that it finds them in the queues. It returns the remaining budget; a message costs one unit for
// each subscription, and one more.
func (b *Broker) publishScheduled(budget int) int {
	return b.topics.PublishDue(b.now, budget, func(t *topic.Topic, p *topic.Publication) (cost int) {
		n := *p.Content()
		t.Unschedule(b.key, p)
		t.UsedAt = max(t.UsedAt, n.Timestamp)
		t.LastSequence++
		n.SequenceNumber, n.Timestamp = SequenceNumber(t.LastSequence), b.now
		b.distribute(t, &n)
		return 1 + t.Subscriptions()
	})
}

// ScheduledPublication is a message that a topic publishes at a time.
type ScheduledPublication struct {
	MessageID       MessageID
	Sequence        SequenceNumber
	DueAt           Timestamp
	Message         string
	Encoded         *Encoded // nil for text
	Subject         string
	Attributes      []MessageAttribute
	GroupID         string
	DeduplicationID string
	PartitionKey    string
	SenderID        string
	TraceHeader     string
}

// ScheduledPublications lists at most limit scheduled messages of a topic by number, starting at a
// number.
func (v View) ScheduledPublications(name string, from SequenceNumber, limit int) (list []ScheduledPublication, err *Error) {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return nil, refusal.NoSuchTopic()
	}
	t.ScanScheduled(uint64(from), func(p *topic.Publication) bool {
		if n := p.Content(); len(list) < limit {
			list = append(list, ScheduledPublication{
				MessageID: n.MessageID, Sequence: n.SequenceNumber, DueAt: n.Timestamp, Message: n.Message.String(), Subject: n.Subject,
				Attributes: n.Attributes, GroupID: n.GroupID, DeduplicationID: n.DeduplicationID, PartitionKey: n.PartitionKey,
				SenderID: n.SenderID, TraceHeader: n.TraceHeader, Encoded: n.Encoded,
			})
		}
		return len(list) < limit
	})
	return list, nil
}

// TopicScheduled counts the scheduled messages of a topic.
func (v View) TopicScheduled(name string) int {
	t, ok := v.b.topics.Get(name)
	if !ok {
		return 0
	}
	return t.ScheduledLen()
}
