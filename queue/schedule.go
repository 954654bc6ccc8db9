package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// SendOptions are what can be asked of a single message beyond the SQS API, without
// reserved message attributes and whether or not the queue takes those.
type SendOptions struct {
	// EnqueueAt is the time before which the message is not delivered; zero, and a
	// time in the past, is now.
	EnqueueAt Timestamp
	// PartitionKey is empty if absent. With a group id it must be equal to that.
	PartitionKey string
}

// check checks the options of a message to a FIFO queue.
func (o *SendOptions) check(e *SendEntry, fifo bool) *Error {
	if !fifo {
		return fifoOnly("Scheduled messages and partition keys")
	}
	if !content.ValidScheduledTime(o.EnqueueAt) {
		return refusal.InvalidValue(strconv.FormatInt(int64(o.EnqueueAt), 10), "EnqueueAt",
			"Must be a number of milliseconds since 1970, before the year 10000.")
	}
	if o.PartitionKey == "" {
		return nil
	}
	if !content.ValidID(o.PartitionKey) {
		return content.InvalidID(o.PartitionKey, "PartitionKey")
	}
	if e.GroupIDGiven && o.PartitionKey != e.GroupID {
		return refusal.InvalidValue(o.PartitionKey, "PartitionKey", "It must be equal to the MessageGroupId if both are given.")
	}
	return nil
}

// takeOptions lets options take the place of reserved message attributes.
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
}

// fifoOnly refuses on a standard queue what only FIFO queues have.
func fifoOnly(what string) *Error {
	return refusal.New(refusal.UnsupportedOperation, what, " are only available on FIFO queues.")
}

func (q *Queue) insertScheduled(k statehash.Key, m *Message) {
	q.aside.scheduled.Set(m.sequence, m)
	q.aside.byTime.Set(timed{m.delivery.visibleAt, m.sequence})
	q.sums.messages.Add(m.sum(k, q.incarnation, true))
	q.hold(m)
}

func (q *Queue) removeScheduled(k statehash.Key, m *Message) {
	q.aside.scheduled.Delete(m.sequence)
	q.aside.byTime.Delete(timed{m.delivery.visibleAt, m.sequence})
	q.sums.messages.Sub(m.sum(k, q.incarnation, true))
	q.release(m)
}

// scheduledMessage is the message that waits under a number, nil if none does. One
// whose time has come was enqueued at that time, whether or not expiry has got to it.
func (q *Queue) scheduledMessage(sequence uint64, now Timestamp) *Message {
	m, ok := q.aside.scheduled.Get(sequence)
	if !ok || m.delivery.visibleAt <= now {
		return nil
	}
	return m
}

func (q *Queue) isScheduled(sequence uint64, now Timestamp) bool {
	return q.scheduledMessage(sequence, now) != nil
}

// activateScheduled appends messages whose scheduled time has come, as if they
// were sent at that instant, each under a new sequence number (Service Bus). They
// keep the time in their delivery: no delay of the queue comes on top.
func (b *Broker) activateScheduled(q *Queue, budget int) int {
	for ; budget > 0; budget-- {
		t, ok := q.aside.byTime.Min()
		if !ok || t.at > b.now {
			break
		}
		old, _ := q.aside.scheduled.Get(t.sequence)
		q.removeScheduled(b.key, old)
		m := *old.detached()
		q.lastSequence++
		m.sequence = q.lastSequence
		m.sentAt = t.at
		if newest, ok := q.messages.Max(); ok {
			m.sentAt = max(m.sentAt, newest.sentAt)
		}
		if newest, ok := q.aside.deferred.Max(); ok {
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

// CancelScheduled deletes messages that wait for their time of enqueueing, by the
// numbers they were accepted under. A number is valid only until then: an enqueued
// message has a new one.
type CancelScheduled struct {
	Queue     string
	Sequences []SequenceNumber
	// ForgetDeduplicationID lets the ids of the cancelled messages be sent again at
	// once. Otherwise they are duplicates until their window is over.
	ForgetDeduplicationID bool
}

// QueueName implements Command.
func (c *CancelScheduled) QueueName() string { return c.Queue }

// Validate checks how many numbers there are.
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
			out.Errs[i] = refusal.New(refusal.MessageNotFound, "There is no scheduled message with the sequence number ", sequence.String(), ".")
			continue
		}
		if c.ForgetDeduplicationID { // first, as the body is read for it
			q.deduplication.ForgetMessage(b.key, b.idsOf(m), m.sequence)
			q.forgotAt = b.now
		}
		q.removeScheduled(b.key, m)
	}
	return out, nil
}

// idsOf are all ids under which the message may have been remembered when
// it was accepted, whatever the rules were.
func (b *Broker) idsOf(m *Message) deduplication.IDs {
	sum := sha256.Sum256([]byte(b.textOf(m.body)))
	ids := deduplication.IDs{Own: m.deduplicationID, Content: hex.EncodeToString(sum[:]), Group: m.group}
	if m.extra != nil {
		ids.Partition = m.extra.partition
	}
	return ids
}
