package queue

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// A deferred message is stored outside its group: it blocks no other message, and only
// ReceiveDeferred returns it. It never expires, but can be deleted or dead-lettered.

func (m *Message) deferred() bool { return m.delivery != nil && m.delivery.deferred }

// find returns a message by number, unless it is scheduled.
func (q *Queue) find(sequence uint64) (*Message, bool) {
	if m, ok := q.messages.Get(sequence); ok {
		return m, true
	}
	return q.deferred.Get(sequence)
}

func (q *Queue) insertDeferred(k statehash.Key, m *Message) {
	q.deferred.Set(m.sequence, m)
	q.sums.messages.Add(m.sum(k, q.incarnation, false))
	q.hold(m)
}

func (q *Queue) removeDeferred(k statehash.Key, m *Message) {
	q.deferred.Delete(m.sequence)
	q.sums.messages.Sub(m.sum(k, q.incarnation, false))
	q.release(m)
}

// Defer defers received messages.
type Defer struct {
	Queue   string
	Session SessionRef // zero if they were received without a session
	Handles []string
}

// QueueName implements Command.
func (c *Defer) QueueName() string { return c.Queue }

// Validate checks the session and the number of handles.
func (c *Defer) Validate() *Error { return checkSettlement(c.Queue, c.Session, len(c.Handles)) }

func (c *Defer) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Handles))}
	for i, handle := range c.Handles {
		m, err := b.lockedMessage(q, handle, c.Session)
		if err != nil {
			out.Errs[i] = err
			continue
		}
		q.endAttempt(b.key, m, true)
		d := *m.delivery
		d.deferred, d.visibleAt = true, b.now
		d.session, d.attemptID, d.attemptNumber = 0, "", 0
		q.remove(b.key, m)
		q.insert(b.key, m.detached().withDelivery(&d))
	}
	return out, nil
}

// ReceiveDeferred receives deferred messages by their sequence numbers: all of them, or none.
type ReceiveDeferred struct {
	Queue     string
	Sequences []SequenceNumber
	// Session locks the messages; zero for messages whose group no session has locked.
	Session           SessionRef
	VisibilityTimeout Int  // seconds 0..43200, default from the queue; absent with a session
	Delete            bool // deletes the messages in the same step
}

// QueueName implements Command.
func (c *ReceiveDeferred) QueueName() string { return c.Queue }

// Validate checks the numbers, the session and the timeout.
func (c *ReceiveDeferred) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if !isFIFOName(c.Queue) {
		return fifoOnly("Deferred messages")
	}
	if err := CheckEntryCount(len(c.Sequences), "sequence number"); err != nil {
		return err
	}
	for i, sequence := range c.Sequences {
		if slices.Contains(c.Sequences[:i], sequence) {
			return refusal.InvalidValue(sequence.String(), "SequenceNumber", "It is repeated.")
		}
	}
	if c.Session == (SessionRef{}) {
		return checkVisibilityRange(c.VisibilityTimeout)
	}
	if c.VisibilityTimeout.Given {
		return timeoutInSession()
	}
	return c.Session.check()
}

func (c *ReceiveDeferred) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	timeout := logtime.Seconds(c.VisibilityTimeout.Or(q.attributes.VisibilitySeconds))
	d := delivery{receivedAt: b.now, visibleAt: b.now.Add(timeout), deferred: true}
	if c.Session != (SessionRef{}) {
		r, err := b.openSession(q, c.Session)
		if err != nil {
			return nil, err
		}
		d.session, d.visibleAt = r.Lock, b.now
	}
	messages := make([]*Message, 0, limits.BatchEntriesMax)
	for _, sequence := range c.Sequences {
		m, ok := q.deferred.Get(uint64(sequence))
		if !ok || q.expired(m, b.now) || q.inFlightNow(m, b.now) || d.session != 0 && m.group != c.Session.SessionID {
			return nil, refusal.New(refusal.MessageNotFound, "There is no deferred message with the sequence number ", sequence.String(), ".")
		}
		if r, ok := q.groups.sessions.Get(m.group); d.session == 0 && ok && r.Locked(b.now) {
			return nil, sessionTaken(m.group)
		}
		messages = append(messages, m)
	}
	if c.Delete {
		return b.deliverAndDelete(q, messages, d), nil
	}
	return b.deliver(q, messages, d), nil
}
