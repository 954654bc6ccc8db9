package queue

import (
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

// ReceiveOptions are options of a receive beyond the SQS API.
type ReceiveOptions struct {
	// Session is the session to receive from; zero receives from groups without a lock.
	Session SessionRef
	// Delete deletes the messages in the same step. They have no handles.
	Delete bool
}

// inSession reports whether o names a session; o may be nil.
func (o *ReceiveOptions) inSession() bool { return o != nil && o.Session != SessionRef{} }

// InSession reports whether the command receives from a session.
func (c *ReceiveMessages) InSession() bool { return c.Options.inSession() }

// check checks the options; o may be nil.
func (o *ReceiveOptions) check(c *ReceiveMessages) *Error {
	switch {
	case o == nil:
		return nil
	case !isFIFOName(c.Queue):
		return fifoOnly("Sessions and deletion on receipt")
	case c.AttemptIDGiven && (o.Delete || !o.inSession()):
		return refusal.New(refusal.UnsupportedOperation, "A ReceiveRequestAttemptId cannot be combined with deletion on receipt.")
	case !o.inSession():
		return nil
	case c.VisibilityTimeout.Given:
		return timeoutInSession()
	}
	return o.Session.check()
}

func timeoutInSession() *Error {
	return refusal.New(refusal.UnsupportedOperation,
		"Messages of a session are locked as long as their session, and have no VisibilityTimeout.")
}

// receive applies ReceiveMessages with options.
func (o *ReceiveOptions) receive(b *Broker, q *Queue, c *ReceiveMessages) (Result, *Error) {
	s := selection{q: q, now: b.now, limit: int(c.MaxMessages.Or(1)), redrive: b.redriveRule(q)}
	if room := limits.InFlightMax - q.inFlight(); !o.Delete && room < int64(s.limit) {
		s.limit = int(max(room, 0))
	}
	if q.attributes.DeliveryPaused {
		s.limit = 0
	}
	if c.Streamed {
		s.bytesMax = limits.BatchBytesMax
	}
	d := delivery{receivedAt: b.now, visibleAt: b.now.Add(logtime.Seconds(c.VisibilityTimeout.Or(q.attributes.VisibilitySeconds)))}
	var from *session.Record
	switch {
	case o.inSession():
		r, err := b.openSession(q, o.Session)
		if err != nil {
			return nil, err
		}
		if a, live := q.liveAttempt(c.AttemptID, b.now); live && c.AttemptIDGiven {
			return b.replayInSession(q, a, r, c)
		}
		from, d.session, d.visibleAt = r, r.Lock, b.now
		s.takeSession(b, r)
		if c.AttemptIDGiven && len(s.deliver) > 0 {
			q.attempts.last++
			d.attemptID, d.attemptNumber = c.AttemptID, q.attempts.last
		}
	case s.limit > 0:
		s.run()
	}
	b.deadLetter(q, s.deadLetters)
	if o.Delete {
		return b.deliverAndDelete(q, s.deliver, d), nil
	}
	out := b.deliver(q, s.deliver, d)
	if from != nil {
		q.advance(b, from, &s)
	}
	return out, nil
}

// takeSession takes the next messages of a session: those that were returned, then new ones, in
// order.
func (s *selection) takeSession(b *Broker, r *session.Record) {
	visit := func(sequence uint64) bool {
		m, _ := s.q.messages.Get(sequence)
		if s.done() || s.q.availableAt(m) > s.now && !s.q.expired(m, s.now) {
			return false
		}
		if s.q.expired(m, s.now) {
			s.passed = append(s.passed, sequence)
		}
		s.pick(m)
		return true
	}
	if s.q.timers.fired.less(timed{s.now, lastTimed}) {
		s.q.groups.walk(r.Name, func(sequence uint64) bool {
			m, _ := s.q.messages.Get(sequence)
			return sequence < r.Next && s.q.held(m) || visit(sequence)
		})
		return
	}
	s.q.groups.sessions.Returned(r.Name, visit)
	s.q.groups.walkFrom(r.Name, r.Next, visit)
}

// advance records the progress of a session.
func (q *Queue) advance(b *Broker, r *session.Record, s *selection) {
	changed := *r
	for _, m := range s.deliver {
		changed.Next = max(changed.Next, m.sequence+1)
	}
	if changed.Next == r.Next {
		return
	}
	q.groups.sessions.Put(b.key, changed)
	for _, sequence := range s.passed { // to be skipped until expiry removes them
		q.groups.sessions.Return(r.Name, sequence)
	}
}

// deliverAndDelete delivers messages and deletes them.
func (b *Broker) deliverAndDelete(q *Queue, messages []*Message, d delivery) MessagesReceived {
	var out MessagesReceived
	for _, m := range messages {
		r := b.received(q, m.handedOut(&deliveredMessage{}, d, b.now))
		r.Handle = ReceiptHandle{}
		out.Messages = append(out.Messages, r)
		q.endAttempt(b.key, m, true)
		q.remove(b.key, m)
	}
	return out
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	SessionID   string
	StateSetAt  Timestamp
	StateBytes  int
	LockedUntil Timestamp // zero if unlocked
}

// Sessions lists at most limit sessions with a state, in the order in which the states were set,
// after a position. The zero position is the beginning.
func (v View) Sessions(queue string, after session.Position, limit int) (list []SessionInfo, err *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return nil, refusal.NoSuchQueue()
	}
	q.groups.sessions.WithState(after, func(r *session.Record) bool {
		if len(list) == limit {
			return false
		}
		info := SessionInfo{SessionID: r.Name, StateSetAt: r.StateSetAt, StateBytes: len(r.State)}
		if r.Locked(v.b.now) {
			info.LockedUntil = r.LockedUntil
		}
		list = append(list, info)
		return true
	})
	return list, nil
}

// SessionState returns the state of a session to the owner of its lock. given is false without a
// state.
func (v View) SessionState(queue string, s SessionRef) (state string, given bool, err *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return "", false, refusal.NoSuchQueue()
	}
	r, err := v.b.openSession(q, s)
	if err != nil {
		return "", false, err
	}
	return r.State, r.StateGiven, nil
}

// InFlightInSession returns the handles of messages that were received in order and are still in
// flight. returned reports whether returned messages come first in the next receive.
func (v View) InFlightInSession(queue string, s SessionRef) (handles []ReceiptHandle, returned bool, err *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return nil, false, refusal.NoSuchQueue()
	}
	r, err := v.b.openSession(q, s)
	if err != nil {
		return nil, false, err
	}
	q.groups.sessions.Returned(r.Name, func(uint64) bool {
		returned = true
		return false
	})
	q.groups.walk(r.Name, func(sequence uint64) bool {
		if m, _ := q.messages.Get(sequence); sequence < r.Next && q.held(m) {
			handles = append(handles, v.b.received(q, m).Handle)
		}
		return sequence < r.Next
	})
	return handles, returned, nil
}

// HasSessions reports whether the queue exists and has sessions, as AcceptSession requires.
func (v View) HasSessions(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	return ok && q.hasSessions()
}

// SessionAttemptKnown reports whether AcceptSession with this attempt id would return an existing
// lock.
func (v View) SessionAttemptKnown(queue, id string) bool {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return false
	}
	r, known := q.groups.sessions.OfAttempt(id)
	return known && r.Locked(v.b.now)
}

// SessionFree reports whether AcceptSession without an id would lock a session.
func (v View) SessionFree(queue string) bool {
	q, ok := v.b.queues.Get(queue)
	if !ok || !q.hasSessions() || q.attributes.Withheld() != attributes.NotWithheld {
		return false
	}
	_, free := q.freeSession(v.b.now)
	return free
}

// SessionDeliverable reports whether a receive in the session would deliver or dead-letter a
// message, or be refused.
func (v View) SessionDeliverable(queue string, s SessionRef) bool {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return true
	}
	r, err := v.b.openSession(q, s)
	if err != nil {
		return true
	}
	if q.attributes.Withheld() != attributes.NotWithheld || q.inFlight() >= limits.InFlightMax {
		return false
	}
	next := selection{q: q, now: v.b.now, limit: 1, redrive: v.b.redriveRule(q)}
	next.takeSession(v.b, r)
	return len(next.deliver)+len(next.deadLetters) > 0
}
