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
)

// SendOptions are options of a message beyond the SQS API. They need no reserved message
// attributes.
type SendOptions struct {
	// EnqueueAt is the time of the first delivery. Zero or a past time means now.
	EnqueueAt Timestamp
	// PartitionKey must equal the group id if both are given.
	PartitionKey string
	// TimeToLive is the time in which the message can be received; zero: as the queue says.
	TimeToLive logtime.Duration
}

// check checks the options of a message to a FIFO queue.
func (o *SendOptions) check(e *SendEntry, fifo bool) *Error {
	if !fifo {
		return fifoOnly("Scheduled messages, partition keys and times to live")
	}
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
	if e.GroupIDGiven && o.PartitionKey != e.GroupID {
		return refusal.InvalidValue(o.PartitionKey, "PartitionKey", "It must be equal to the MessageGroupId if both are given.")
	}
	return nil
}

// takeOptions lets options override reserved message attributes.
func (s *sending) takeOptions() {
	o := s.entry.Options
	if o == nil {
		return
	}
	if o.EnqueueAt != 0 {
		s.scheduledAt = o.EnqueueAt
	}
	if o.PartitionKey != "" {
		s.partition = o.PartitionKey
	}
	s.timeToLive = o.TimeToLive
}

// fifoOnly refuses a FIFO feature on a standard queue.
func fifoOnly(what string) *Error {
	return refusal.New(refusal.UnsupportedOperation, what, " are only available on FIFO queues.")
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

// CancelScheduled deletes scheduled messages by the sequence numbers of their sends. A message that
// was enqueued has a new number.
type CancelScheduled struct {
	Queue     string
	Sequences []SequenceNumber
	// ForgetDeduplicationID lets the ids of the cancelled messages be sent again at once.
	ForgetDeduplicationID bool
}

// QueueName implements Command.
func (c *CancelScheduled) QueueName() string { return c.Queue }

// Validate checks the number of sequence numbers.
func (c *CancelScheduled) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return CheckEntryCount(len(c.Sequences), "sequence number")
}

func (c *CancelScheduled) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Sequences))}
	for i, sequence := range c.Sequences {
		m := q.scheduledMessage(uint64(sequence), b.now)
		if m == nil {
			out.Errs[i] = refusal.New(refusal.MessageNotFound, "There is no scheduled message with the sequence number ", sequence.String(),
				".")
			continue
		}
		if c.ForgetDeduplicationID { // before the body is freed
			q.deduplication.ForgetMessage(b.key, b.idsOf(m), m.sequence)
			q.forgotAt = b.now
		}
		q.removeScheduled(b.key, m)
	}
	return out, nil
}

// idsOf returns all ids under which the message may be remembered, under any rules.
func (b *Broker) idsOf(m *Message) deduplication.IDs {
	sum := sha256.Sum256([]byte(b.textOf(m.body)))
	ids := deduplication.IDs{Own: m.deduplicationID, Content: hex.EncodeToString(sum[:]), Group: m.group}
	if m.extra != nil {
		ids.Partition = m.extra.partition
	}
	return ids
}
