package queue

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Service Bus refuses a command whose message lock is lost, even if the message is gone. SQS mostly
// reports success, or has other errors.

// SettlementOptions select the rules of Service Bus for DeleteMessages and ChangeMessageVisibility.
type SettlementOptions struct {
	// Session is the session of the receive, zero without one.
	Session SessionRef
}

// check checks the options; o may be nil.
func (o *SettlementOptions) check(queue string) *Error {
	if o == nil {
		return nil
	}
	return checkSession(queue, o.Session)
}

// checkSession checks an optional session.
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

// lockedMessage finds the message of a handle whose lock is still active.
func (b *Broker) lockedMessage(q *Queue, handle string, s SessionRef) (*Message, *Error) {
	named, ok := b.openHandle(q, handle)
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
	return nil, refusal.New(refusal.MessageLockLost, "The lock of the message is lost. The message was completed already, or will be delivered again.")
}

// DeadLetter moves received messages to the dead-letter queue.
type DeadLetter struct {
	Queue   string
	Session SessionRef // zero if they were received without a session
	Entries []DeadLetterEntry
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
	for i := range c.Entries {
		for _, text := range [2]struct{ name, value string }{
			{deadLetterReason, c.Entries[i].Reason}, {deadLetterDescription, c.Entries[i].Description},
		} {
			if len(text.value) > deadLetterTextMax || content.BadCharacter(text.value) {
				return refusal.InvalidValue(text.value, text.name, "It must have at most "+strconv.Itoa(deadLetterTextMax)+
					" bytes and only characters that a message may have.")
			}
		}
	}
	return nil
}

func (c *DeadLetter) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if b.redriveRule(q).target == nil {
		return nil, refusal.New(refusal.UnsupportedOperation, "The queue has no dead-letter queue.")
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Entries))}
	for i := range c.Entries {
		e := &c.Entries[i]
		m, err := b.lockedMessage(q, e.Handle, c.Session)
		if err != nil {
			out.Errs[i] = err
			continue
		}
		q.endAttempt(b.key, m, true)
		b.deadLetterFor(q, []*Message{m}, e.attributes())
	}
	return out, nil
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
