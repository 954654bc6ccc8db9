package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// DeleteMessages is the command for DeleteMessage and DeleteMessageBatch.
type DeleteMessages struct {
	Queue   string
	Batch   bool
	Handles []string           // receipt handles as sent by the client
	Options *SettlementOptions // nil for SQS
	// Streamed permits up to StreamEntriesMax handles, for a stream of the native API.
	Streamed bool
}

// QueueName implements Command.
func (c *DeleteMessages) QueueName() string { return c.Queue }

// Validate checks the number and form of the handles. A batch is refused for its handles only if
// all of them are malformed.
func (c *DeleteMessages) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries and the options.
func (c *DeleteMessages) wellFormed() *Error {
	if err := c.Options.check(c.Queue); err != nil {
		return err
	}
	return checkEntries(len(c.Handles), entriesMax(c.Streamed), "DeleteMessageBatchRequestEntry")
}

// check makes the checks that need no state.
func (c *DeleteMessages) check() (entries entryRefusals, whole *Error) {
	if err := c.wellFormed(); err != nil {
		return entries, err
	}
	if err := checkQueueName(c.Queue); err != nil {
		return entries, err
	}
	for i, handle := range c.Handles {
		if !c.Options.readable(handle) {
			entries.add(i, len(c.Handles), invalidHandle(handle))
		}
	}
	if entries.count == len(c.Handles) {
		return entries, entries.first
	}
	return entries, nil
}

func (c *DeleteMessages) prepare() (Prepared, *Error) {
	refused, err := c.check()
	if err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Handles = withoutRefused(c.Handles, refused, func(string) string { return "" })
	return Prepared{Command: &ready, refusals: refused.errs}, nil
}

func (c *DeleteMessages) refuse(*Broker, *Queue) (Result, *Error) {
	refused, err := c.check()
	if !c.Batch || refused.count == 0 {
		return nil, err
	}
	return EntriesDone{Errs: refused.errs}, nil
}

func (c *DeleteMessages) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if err := q.refusesRemoval(); err != nil {
		return nil, err
	}
	if len(c.Handles) == 1 && !c.Batch {
		if err := c.delete(b, q, c.Handles[0]); err != nil {
			return nil, err
		}
		return entryDone, nil
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Handles))}
	for i, handle := range c.Handles {
		err := c.delete(b, q, handle)
		if err != nil && !c.Batch {
			return nil, err
		}
		out.Errs[i] = err
	}
	return out, nil
}

// entryDone answers most commands with one entry. It never changes.
var entryDone Result = EntriesDone{Errs: make([]*Error, 1)}

func (c *DeleteMessages) delete(b *Broker, q *Queue, handle string) *Error {
	if c.Options == nil {
		return b.deleteMessage(q, handle, c.Batch)
	}
	m, err := b.lockedMessage(q, handle, c.Options.Session)
	if err == nil {
		b.deleteFound(q, m)
	}
	return err
}

// deleteFound deletes a message and ends its receive attempt.
func (b *Broker) deleteFound(q *Queue, m *Message) {
	q.endAttempt(b.key, m, true)
	q.remove(b.key, m)
	b.scratch.events = append(b.scratch.events, Event{Kind: MessageDeleted, Queue: q.name, Count: 1, Age: b.now.Sub(m.sentAt)})
}

// EntriesDone answers DeleteMessages and ChangeMessageVisibility: one error or
// nil per entry.
type EntriesDone struct{ Errs []*Error }

func (EntriesDone) result() {}

// openHandle reads a client's handle. ok is false unless the text is exactly a handle issued for a
// delivery from q.
func (b *Broker) openHandle(q *Queue, text string) (identifier.Receipt, bool) {
	h, ok := identifier.ParseReceiptHandle(text)
	if !ok {
		return identifier.Receipt{}, false
	}
	return h.Open(b.key, b.epoch, q.incarnation)
}

func invalidHandle(handle string) *Error {
	return refusal.New(refusal.ReceiptHandleIsInvalid, `The input receipt handle "`, refusal.Echo(handle),
		`" is not a valid receipt handle.`)
}

// deleteMessage deletes the message of a handle. It succeeds for a message that is already gone. A
// standard queue accepts any handle of the message. A FIFO queue accepts only the last handle,
// while its visibility timeout runs. In YMQ mode an expired handle works until the next receive,
// and an older handle changes nothing (ymq.md 8.1).
func (b *Broker) deleteMessage(q *Queue, handle string, batch bool) *Error {
	r, ok := b.openHandle(q, handle)
	if !ok {
		return invalidHandle(handle)
	}
	m, ok := q.find(r.Sequence)
	if !ok || q.expired(m, b.now) {
		return nil
	}
	if q.attributes.FIFO {
		current := m.delivery.count == r.Count
		switch {
		case q.attributes.YMQReceive && !current:
			return nil
		case !q.attributes.YMQReceive && (!current || !q.inFlightNow(m, b.now)):
			if batch { // recorded from AWS: differs from the single call
				return refusal.New(refusal.ReceiptHandleIsInvalid, "The receipt handle has expired")
			}
			return refusal.InvalidValue(handle, "ReceiptHandle", "The receipt handle has expired.")
		}
	}
	b.deleteFound(q, m)
	return nil
}

// ChangeMessageVisibility is the command for ChangeMessageVisibility and its batch form.
type ChangeMessageVisibility struct {
	Queue   string
	Batch   bool
	Entries []VisibilityEntry
	Options *SettlementOptions // nil for SQS
	Changes []PropertyChange   // of each message; none for SQS
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
	if err := message.CheckChanges(c.Changes); err != nil {
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
		if err == nil && !c.Options.readable(e.Handle) {
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
	m, err := b.visibilityOf(q, e.Handle, c)
	if err != nil {
		return err
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
	changed, err := m.withChanges(b.key, c.Changes)
	if err != nil {
		return err
	}
	b.hideUntil(q, m, changed, b.now.Add(timeout), c.Options != nil && c.Options.Uncounted && timeout == 0)
	return nil
}

// hideUntil restarts the visibility timeout of a message and reverses its receive count if that did not
// count. changed is the message with other properties.
func (b *Broker) hideUntil(q *Queue, m, changed *Message, end Timestamp, uncounted bool) {
	q.endAttempt(b.key, m, false)
	d := *m.delivery
	d.session = 0
	d.visibleAt = end
	if uncounted {
		d.takeBack()
	}
	q.replace(b.key, m, changed.withDelivery(&d))
	if changed != m && !m.deferred() { // replace counts no contents
		q.use(0, changed.contentBytes()-m.contentBytes())
	}
}

// visibilityOf finds the message whose visibility timeout changes.
func (b *Broker) visibilityOf(q *Queue, handle string, c *ChangeMessageVisibility) (*Message, *Error) {
	if c.Options != nil {
		return b.lockedMessage(q, handle, c.Options.Session)
	}
	r, ok := b.openHandle(q, handle)
	if !ok {
		return nil, invalidHandle(handle)
	}
	m, ok := q.find(r.Sequence)
	stale := ok && q.attributes.FIFO && (m.delivery.count != r.Count || !q.inFlightNow(m, b.now))
	switch {
	case ok && !stale && !q.expired(m, b.now):
		return m, nil
	case c.Batch: // recorded from AWS: differs from the single call
		return nil, refusal.New(refusal.ReceiptHandleIsInvalid,
			"Message does not exist or is not available for visibility timeout change")
	}
	return nil, refusal.InvalidValue(handle, "ReceiptHandle", "Message does not exist or is not available for visibility timeout change.")
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
