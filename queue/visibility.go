package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// ChangeMessageVisibility is the command for ChangeMessageVisibility and its batch form.
type ChangeMessageVisibility struct {
	Queue   string
	Batch   bool
	Entries []VisibilityEntry
	Options *SettlementOptions // nil for SQS
}

// QueueName implements Command.
func (c *ChangeMessageVisibility) QueueName() string { return c.Queue }

// Validate checks the number of entries, the timeouts and the form of the handles. A batch is
// refused for timeouts and handles only if all are wrong.
func (c *ChangeMessageVisibility) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries, the options and, outside a batch, the timeout.
func (c *ChangeMessageVisibility) wellFormed() *Error {
	if err := c.Options.check(c.Queue); err != nil {
		return err
	}
	if err := CheckEntryCount(len(c.Entries), "ChangeMessageVisibilityBatchRequestEntry"); err != nil {
		return err
	}
	if c.Batch {
		return nil
	}
	return checkVisibility(c.Entries[0].VisibilityTimeout)
}

// check makes the checks that need no state.
func (c *ChangeMessageVisibility) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	for i, e := range c.Entries {
		err := checkVisibility(e.VisibilityTimeout)
		if _, ok := identifier.ParseReceiptHandle(e.Handle); !ok && err == nil {
			err = invalidHandle(e.Handle)
		}
		entries.add(i, len(c.Entries), err)
	}
	if entries.count == len(c.Entries) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *ChangeMessageVisibility) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Entries = withoutRefused(c.Entries, refused, func(VisibilityEntry) VisibilityEntry { return VisibilityEntry{} })
	return Prepared{Command: &ready, refusals: refused.errs}, nil
}

func (c *ChangeMessageVisibility) refuse(*Broker, *Queue) (Result, *Error) {
	refused, err := c.check()
	if !c.Batch || refused.count == 0 {
		return nil, err
	}
	return EntriesDone{Errs: refused.errs}, nil
}

// VisibilityEntry sets the visibility timeout of one delivery.
type VisibilityEntry struct {
	Handle            string
	VisibilityTimeout Int // seconds 0..43200
}

func (c *ChangeMessageVisibility) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Entries))}
	for i, e := range c.Entries {
		err := b.changeVisibility(q, e, c)
		if err != nil && !c.Batch {
			return nil, err
		}
		out.Errs[i] = err
	}
	return out, nil
}

// changeVisibility restarts the visibility timeout of one delivery with the given seconds.
func (b *Broker) changeVisibility(q *Queue, e VisibilityEntry, c *ChangeMessageVisibility) *Error {
	if err := checkVisibility(e.VisibilityTimeout); err != nil {
		return err
	}
	if c.Options != nil {
		if _, err := b.lockedMessage(q, e.Handle, c.Options.Session); err != nil {
			return err
		}
	}
	r, ok := b.openHandle(q, e.Handle)
	if !ok {
		return invalidHandle(e.Handle)
	}
	m, ok := q.find(r.Sequence)
	stale := ok && q.attributes.FIFO && (m.delivery.count != r.Count || !q.inFlightNow(m, b.now))
	if !ok || stale || q.expired(m, b.now) {
		if c.Batch { // recorded from AWS: differs from the single call
			return refusal.New(refusal.ReceiptHandleIsInvalid, "Message does not exist or is not available for visibility timeout change")
		}
		return refusal.InvalidValue(e.Handle, "ReceiptHandle",
			"Message does not exist or is not available for visibility timeout change.")
	}
	timeout := logtime.Seconds(e.VisibilityTimeout.Value)
	abandons := m.delivery.session != 0 && timeout == 0 // allowed at any age
	if !abandons && b.now.Sub(m.delivery.receivedAt)+timeout > logtime.Seconds(limits.VisibilitySecondsMax) {
		return refusal.InvalidValue(e.VisibilityTimeout.text(), "VisibilityTimeout",
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
	}
	if m.delivery.session != 0 && timeout > 0 {
		return refusal.New(refusal.UnsupportedOperation, "The message is locked by its session. Renew the lock of the session instead.")
	}
	q.endAttempt(b.key, m, false)
	d := *m.delivery
	d.session = 0
	d.visibleAt = b.now.Add(timeout)
	q.replace(b.key, m, m.withDelivery(&d))
	return nil
}

// checkVisibility checks a required timeout.
func checkVisibility(v Int) *Error {
	if !v.Given {
		return refusal.MissingParameter("VisibilityTimeout")
	}
	return checkVisibilityRange(v)
}

func checkVisibilityRange(v Int) *Error {
	if v.Given && (v.Value < 0 || v.Value > limits.VisibilitySecondsMax) {
		return refusal.InvalidValue(strconv.FormatInt(v.Value, 10), "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
	}
	return nil
}
