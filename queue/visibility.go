package queue

// deleteMessages is DeleteMessage and DeleteMessageBatch.
func (b *Broker) deleteMessages(q *Queue, c *DeleteMessages) (Result, *Error) {
	out := EntriesDone{Errs: make([]*Error, len(c.Handles))}
	for i, handle := range c.Handles {
		err := b.deleteMessage(q, handle, c.Batch)
		if err != nil && !c.Batch {
			return nil, err
		}
		out.Errs[i] = err
	}
	return out, nil
}

func invalidHandle(handle string) *Error {
	return errorf(ReceiptHandleIsInvalid, `The input receipt handle "`, echo(handle), `" is not a valid receipt handle.`)
}

// deleteMessage deletes what a handle names. A message that is gone already
// was deleted: success. On standard queues any handle of the message will do.
// On FIFO queues the handle must be the last one issued and its visibility
// timeout must run; the ymq receive compatibility lets an expired handle
// delete while nobody received the message again, and a superseded one do
// nothing (ymq.md 8.1).
func (b *Broker) deleteMessage(q *Queue, handle string, batch bool) *Error {
	r, ok := b.openHandle(q, handle)
	if !ok {
		return invalidHandle(handle)
	}
	m, ok := q.messages.Get(r.sequence)
	if !ok || q.expired(m, b.now) {
		return nil
	}
	if q.attributes.FIFO {
		current := m.delivery.count == r.count
		switch {
		case q.attributes.YMQReceive && !current:
			return nil
		case !q.attributes.YMQReceive && (!current || m.delivery.visibleAt <= b.now):
			if batch { // recorded: another code and text than the single call
				return errorf(ReceiptHandleIsInvalid, "The receipt handle has expired")
			}
			return invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.")
		}
	}
	q.settleAttempt(b.key, m, true)
	q.remove(b.key, m)
	return nil
}

// changeMessageVisibility is the action of that name and its batch form.
func (b *Broker) changeMessageVisibility(q *Queue, c *ChangeMessageVisibility) (Result, *Error) {
	out := EntriesDone{Errs: make([]*Error, len(c.Entries))}
	for i, e := range c.Entries {
		err := b.changeVisibility(q, e, c.Batch)
		if err != nil && !c.Batch {
			return nil, err
		}
		out.Errs[i] = err
	}
	return out, nil
}

// changeVisibility sets the end of a visibility timeout to now plus the given
// seconds. It concerns this delivery only, and no other message of the group.
func (b *Broker) changeVisibility(q *Queue, e VisibilityEntry, batch bool) *Error {
	if err := checkVisibility(e.VisibilityTimeout); err != nil {
		return err
	}
	r, ok := b.openHandle(q, e.Handle)
	if !ok {
		return invalidHandle(e.Handle)
	}
	m, ok := q.messages.Get(r.sequence)
	stale := ok && q.attributes.FIFO && (m.delivery.count != r.count || m.delivery.visibleAt <= b.now)
	if !ok || stale || q.expired(m, b.now) {
		if batch { // recorded: another code and text than the single call
			return errorf(ReceiptHandleIsInvalid, "Message does not exist or is not available for visibility timeout change")
		}
		return invalidValue(e.Handle, "ReceiptHandle",
			"Message does not exist or is not available for visibility timeout change.")
	}
	timeout := Seconds(e.VisibilityTimeout.Value)
	if b.now.Sub(m.delivery.receivedAt)+timeout > Seconds(VisibilitySecondsMax) {
		return invalidValue(e.VisibilityTimeout.text(), "VisibilityTimeout",
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds].")
	}
	q.settleAttempt(b.key, m, false)
	d := *m.delivery
	d.visibleAt = b.now.Add(timeout)
	q.replace(b.key, m, m.withDelivery(&d))
	return nil
}
