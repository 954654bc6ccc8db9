package reference

// locked returns the message of a handle with a valid lock (servicebus.md 4, 5.5). If the lock has
// ended, this is an error, not success.
func (b *Broker) locked(q *Queue, h Handle, in *SessionRef) (*Message, *Error) {
	was, known := b.issued[h.Delivery]
	if !known || was.queue != q {
		return nil, badHandle(h)
	}
	if in != nil {
		if _, err := b.open(q, *in); err != nil {
			return nil, err
		}
	}
	m := was.message
	if q.holds(m) && m.Delivery == h.Delivery {
		if b.inFlight(q, m) && (in == nil || in.ID == m.Group) {
			return m, nil
		}
		if m.Lock != 0 && in == nil {
			return nil, &Error{Code: "SessionLockLost"}
		}
	}
	return nil, &Error{Code: "MessageLockLost"}
}

// Complete deletes messages under their locks.
func (b *Broker) Complete(name string, in *SessionRef, handles []Handle) ([]*Error, *Error) {
	return b.eachLocked(name, in, handles, func(q *Queue, m *Message) *Error {
		b.touch(q, m)
		q.remove(m)
		forget([]*Message{m})
		return nil
	})
}

// eachLocked calls do for each message under its lock, and returns the errors.
func (b *Broker) eachLocked(name string, in *SessionRef, handles []Handle, do func(*Queue, *Message) *Error) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if !q.FIFO {
		return nil, &Error{Code: "UnsupportedOperation"}
	}
	if err := q.keeps(); err != nil {
		return nil, err
	}
	var answers []*Error
	for _, h := range handles {
		m, err := b.locked(q, h, in)
		if err == nil {
			err = do(q, m)
		}
		answers = append(answers, err)
	}
	return answers, nil
}

// Abandon makes messages visible, or extends their locks.
func (b *Broker) Abandon(name string, in *SessionRef, batch bool, entries []VisibilityEntry) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if !q.FIFO {
		return nil, &Error{Code: "UnsupportedOperation"}
	}
	var answers []*Error
	for _, e := range entries {
		if e.Timeout < 0 || e.Timeout > 43_200 {
			answers = append(answers, &Error{Code: "InvalidParameterValue"})
			continue
		}
		_, err := b.locked(q, e.Handle, in)
		if err == nil {
			err = b.changeOne(q, e, batch)
		}
		answers = append(answers, err)
	}
	return answers, nil
}

// DeadLetterEntry is a message to dead-letter, with the reason.
type DeadLetterEntry struct {
	Handle              Handle
	Reason, Description string
}

// DeadLetter moves messages to the dead-letter queue on request. The texts arrive as
// message attributes there (servicebus.md 5.6).
func (b *Broker) DeadLetter(name string, in *SessionRef, entries []DeadLetterEntry, changes []Change) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if err := q.keeps(); q.FIFO && err != nil {
		return nil, err
	}
	target := b.queues[q.redrive().Target]
	if !q.FIFO || target == nil || target == q || target.FIFO != q.FIFO {
		return nil, &Error{Code: "UnsupportedOperation"}
	}
	var answers []*Error
	for _, e := range entries {
		m, err := b.locked(q, e.Handle, in)
		var parts Parts
		if err == nil {
			parts, err = m.Sent.Parts.with(changes)
		}
		answers = append(answers, err)
		if err != nil {
			continue
		}
		b.touch(q, m)
		m.Sent.Parts = parts
		m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterReason", e.Reason)
		m.Sent.Attributes = withAttribute(m.Sent.Attributes, "DeadLetterErrorDescription", e.Description)
		b.deadLetter(q, target, m)
	}
	return answers, nil
}

// withAttribute sets an attribute to a text. An empty text sets nothing.
func withAttribute(list []Attribute, name, value string) []Attribute {
	if value == "" {
		return list
	}
	out := []Attribute{{name, "String", value}}
	for _, a := range list {
		if a.Name != name {
			out = append(out, a)
		}
	}
	return out
}
