package reference

import "slices"

// Defer defers messages under their locks (servicebus.md 4, 5.6). They stay in the queue with their
// numbers, but outside of their groups.
func (b *Broker) Defer(name string, in *SessionRef, handles []Handle, changes []Change) ([]*Error, *Error) {
	return b.eachLocked(name, in, handles, func(q *Queue, m *Message) *Error {
		parts, err := m.Sent.Parts.with(changes)
		if err != nil {
			return err
		}
		m.Sent.Parts = parts
		b.touch(q, m)
		m.Deferred, m.Lock, m.HiddenTill, m.attempt = true, 0, b.now, nil
		return nil
	})
}

// DeferredRequest asks for deferred messages by number. A number that the model does not know is 0.
type DeferredRequest struct {
	Numbers    []int
	Session    *SessionRef
	Visibility *int64
	Delete     bool
}

// ReceiveDeferred delivers either all requested messages or none.
func (b *Broker) ReceiveDeferred(name string, r DeferredRequest) (Received, *Error) {
	q, err := b.find(name)
	if err != nil {
		return Received{}, err
	}
	if !q.FIFO || r.Session != nil && r.Visibility != nil {
		return Received{}, &Error{Code: "UnsupportedOperation"}
	}
	if err := outOfRange("VisibilityTimeout", or(r.Visibility, 0), 0, 43_200, "Must be >= 0 and <= 43200, if provided."); err != nil {
		return Received{}, err
	}
	for i, number := range r.Numbers {
		if number != 0 && slices.Contains(r.Numbers[:i], number) {
			return Received{}, &Error{Code: "InvalidParameterValue"} // requested twice
		}
	}
	if err := q.refusesReceives(); err != nil {
		return Received{}, err
	}
	lock := 0
	if r.Session != nil {
		s, err := b.open(q, *r.Session)
		if err != nil {
			return Received{}, err
		}
		lock = s.lock
	}
	var picked []*Message
	for _, number := range r.Numbers {
		m := q.numbered(number)
		if m == nil || !m.Deferred || b.inFlight(q, m) || r.Session != nil && r.Session.ID != m.Group {
			return Received{}, &Error{Code: "MessageNotFound"}
		}
		if lock == 0 && m.Grouped && q.lockOf(m.Group, b.now) != 0 {
			return Received{}, &Error{Code: "SessionCannotBeLocked"}
		}
		picked = append(picked, m)
	}
	if q.Settings.Paused {
		return Received{}, nil
	}
	timeout := or(r.Visibility, q.Settings.Visibility)
	if lock != 0 {
		timeout = 0
	}
	return b.consume(q, picked, timeout, lock, ReceiveRequest{Delete: r.Delete}), nil
}

// numbered returns the message with a number, or nil.
func (q *Queue) numbered(number int) *Message {
	for _, m := range q.messages {
		if m.Number == number && number != 0 {
			return m
		}
	}
	return nil
}
