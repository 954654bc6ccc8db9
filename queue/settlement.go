package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Service Bus refuses a command whose message lock is lost, even if the message is gone. SQS mostly
// reports success, or has other errors.

// SettlementOptions select the rules of Service Bus for DeleteMessages and ChangeMessageVisibility.
type SettlementOptions struct {
	// Session is the session of the receive, zero without one.
	Session SessionRef
	// Uncounted makes a visibility timeout of zero reverse the receive count: the receiver did not
	// try the message.
	Uncounted bool
}

// readable reports whether the text of a handle has the form of one. With options it may be a lock
// token. o may be nil.
func (o *SettlementOptions) readable(handle string) bool {
	_, ok := identifier.ParseReceiptHandle(handle)
	if !ok && o != nil {
		_, ok = identifier.ParseLockToken(handle)
	}
	return ok
}

// check checks the options; o may be nil.
func (o *SettlementOptions) check(queue string) *Error {
	if o == nil {
		return nil
	}
	return checkSession(queue, o.Session)
}

func checkSession(queue string, s SessionRef) *Error {
	if !isFIFOName(queue) {
		return fifoOnly("Settlement under a lock, deferral and dead-lettering on request")
	}
	if s == (SessionRef{}) {
		return nil
	}
	return s.check()
}

// checkSettlement makes the checks that settlement commands share.
func checkSettlement(queue string, s SessionRef, entries int) *Error {
	if err := checkQueueName(queue); err != nil {
		return err
	}
	if err := checkSession(queue, s); err != nil {
		return err
	}
	return CheckEntryCount(entries, "receipt handle")
}

// openLock reads a receipt handle or a lock token.
func (b *Broker) openLock(q *Queue, text string) (identifier.Receipt, bool) {
	if t, ok := identifier.ParseLockToken(text); ok {
		return t.Open(b.key, b.epoch, q.incarnation)
	}
	return b.openHandle(q, text)
}

// lockedMessage finds the message of a handle or lock token whose lock is still active.
func (b *Broker) lockedMessage(q *Queue, handle string, s SessionRef) (*Message, *Error) {
	named, ok := b.openLock(q, handle)
	if !ok {
		return nil, invalidHandle(handle)
	}
	if s != (SessionRef{}) {
		if _, err := b.openSession(q, s); err != nil {
			return nil, err
		}
	}
	m, ok := q.find(named.Sequence)
	switch {
	case !ok || q.expired(m, b.now) || m.delivery.count != named.Count:
	case q.inFlightNow(m, b.now) && (s == SessionRef{} || s.SessionID == m.group):
		return m, nil
	case m.delivery.session != 0 && s == SessionRef{}:
		return nil, sessionLockLost(m.group)
	}
	return nil, messageLockLost()
}

func messageLockLost() *Error {
	return refusal.New(refusal.MessageLockLost,
		"The lock of the message is lost. The message was completed already, or will be delivered again.")
}

// DeadLetter moves received messages to the dead-letter queue.
type DeadLetter struct {
	Queue   string
	Session SessionRef // zero if they were received without a session
	Entries []DeadLetterEntry
	Changes []PropertyChange // of each message
}

// DeadLetterEntry is one message with an optional reason.
type DeadLetterEntry struct {
	Handle      string
	Reason      string
	Description string
}

// Message attributes that explain a dead letter, as in Service Bus.
const (
	deadLetterReason      = "DeadLetterReason"
	deadLetterDescription = "DeadLetterErrorDescription"
	// reasonTooManyDeliveries is the reason of a message that was received maxReceiveCount times.
	reasonTooManyDeliveries = "MaxDeliveryCountExceeded"
	// deadLetterTextMax bounds reason and description in bytes, as in Service Bus.
	deadLetterTextMax = 4096
)

// QueueName implements Command.
func (c *DeadLetter) QueueName() string { return c.Queue }

// Validate checks the session, the number of entries, and their texts.
func (c *DeadLetter) Validate() *Error {
	if err := checkSettlement(c.Queue, c.Session, len(c.Entries)); err != nil {
		return err
	}
	if err := message.CheckChanges(c.Changes); err != nil {
		return err
	}
	for i := range c.Entries {
		if err := c.Entries[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks the texts.
func (e *DeadLetterEntry) check() *Error {
	for _, text := range [2]struct{ name, value string }{{deadLetterReason, e.Reason}, {deadLetterDescription, e.Description}} {
		if len(text.value) > deadLetterTextMax || message.BadCharacter(text.value) {
			return refusal.InvalidValue(text.value, text.name, "It must have at most "+strconv.Itoa(deadLetterTextMax)+
				" bytes and only characters that a message may have.")
		}
	}
	return nil
}

func (c *DeadLetter) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if err := q.refusesRemoval(); err != nil {
		return nil, err
	}
	if b.redriveRule(q).target == nil {
		return nil, noDeadLetterQueue()
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Entries))}
	for i := range c.Entries {
		e := &c.Entries[i]
		m, err := b.lockedMessage(q, e.Handle, c.Session)
		if err == nil {
			_, err = m.encodedWith(c.Changes)
		}
		if err != nil {
			out.Errs[i] = err
			continue
		}
		b.deadLetterLocked(q, m, e, c.Changes)
	}
	return out, nil
}

func noDeadLetterQueue() *Error {
	return refusal.New(refusal.UnsupportedOperation, "The queue has no dead-letter queue.")
}

// deadLetterLocked moves a message under its lock.
func (b *Broker) deadLetterLocked(q *Queue, m *Message, e *DeadLetterEntry, changes []PropertyChange) {
	q.endAttempt(b.key, m, true)
	b.deadLetterFor(q, []*Message{m}, e.attributes(), changes)
}

func (e *DeadLetterEntry) attributes() (list []MessageAttribute) {
	for _, a := range [2]MessageAttribute{
		{Name: deadLetterReason, DataType: "String", Value: e.Reason},
		{Name: deadLetterDescription, DataType: "String", Value: e.Description},
	} {
		if a.Value != "" {
			list = append(list, a)
		}
	}
	return list
}

// withAttributes adds attributes, which replace those of the same name, and sorts by name.
func withAttributes(attributes, more []MessageAttribute) []MessageAttribute {
	if len(more) == 0 {
		return attributes
	}
	merged := slices.Clone(more)
	for _, a := range attributes {
		if !slices.ContainsFunc(more, func(m MessageAttribute) bool { return m.Name == a.Name }) {
			merged = append(merged, a)
		}
	}
	slices.SortFunc(merged, func(a, b MessageAttribute) int { return strings.Compare(a.Name, b.Name) })
	return merged
}

// encodedWith returns the parts of the message after changes. It refuses changes with which the message
// would be too long.
func (m *Message) encodedWith(changes []PropertyChange) (*Encoded, *Error) {
	var encoded *Encoded
	if m.extra != nil {
		encoded = m.extra.encoded
	}
	changed, err := encoded.With(changes)
	if err == nil && len(changes) > 0 && m.contentBytes()-encoded.Size()+changed.Size() > limits.MessageBytesMax {
		err = tooLong(limits.MessageBytesMax, false)
	}
	return changed, err
}

// withChanges returns a copy of the message with changed properties.
func (m *Message) withChanges(k statehash.Key, changes []PropertyChange) (*Message, *Error) {
	if len(changes) == 0 {
		return m, nil
	}
	encoded, err := m.encodedWith(changes)
	if err != nil {
		return nil, err
	}
	changed := m.detached()
	if changed.extra == nil {
		changed.extra = &messageExtra{}
	}
	changed.extra.encoded = encoded.Clone()
	changed.seal(k)
	return changed, nil
}

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

// Defer stores received messages outside of their groups, where only ReceiveDeferred returns them.
type Defer struct {
	Queue   string
	Session SessionRef // zero if they were received without a session
	Handles []string
	Changes []PropertyChange // of each message
}

// QueueName implements Command.
func (c *Defer) QueueName() string { return c.Queue }

// Validate checks the session, the number of handles and the changes.
func (c *Defer) Validate() *Error {
	if err := checkSettlement(c.Queue, c.Session, len(c.Handles)); err != nil {
		return err
	}
	return message.CheckChanges(c.Changes)
}

func (c *Defer) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if err := q.refusesRemoval(); err != nil {
		return nil, err
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Handles))}
	for i, handle := range c.Handles {
		m, err := b.lockedMessage(q, handle, c.Session)
		var changed *Message
		if err == nil {
			changed, err = m.withChanges(b.key, c.Changes)
		}
		if err != nil {
			out.Errs[i] = err
			continue
		}
		b.deferLocked(q, m, changed)
	}
	return out, nil
}

// deferLocked defers a message under its lock. changed is the message with other properties.
func (b *Broker) deferLocked(q *Queue, m, changed *Message) {
	q.endAttempt(b.key, m, true)
	d := *m.delivery
	d.deferred, d.visibleAt = true, b.now
	d.session, d.attemptID, d.attemptNumber = 0, "", 0
	q.remove(b.key, m)
	q.insert(b.key, changed.detached().withDelivery(&d))
}

// ReceiveDeferred receives deferred messages by their sequence numbers: all of them, or none. A
// queue with DeliveryPaused returns none.
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
	if err := q.refusesReceives(); err != nil {
		return nil, err
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
			return nil, refusal.New(refusal.MessageNotFound, "There is no deferred message with the sequence number ", sequence.String(),
				".")
		}
		if r, ok := q.groups.sessions.Get(m.group); d.session == 0 && ok && r.Locked(b.now) {
			return nil, sessionTaken(m.group)
		}
		messages = append(messages, m)
	}
	switch {
	case q.attributes.DeliveryPaused:
		return MessagesReceived{}, nil
	case c.Delete:
		return b.deliverAndDelete(q, messages, d), nil
	}
	return b.deliver(q, messages, d), nil
}
