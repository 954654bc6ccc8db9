package reference

import "slices"

// receiveBus receives in a session, or deletes the delivered messages, or both (servicebus.md 3,
// 4). In a session, visibility timeouts have no effect. If the messages are deleted, attempt ids
// have none.
func (b *Broker) receiveBus(q *Queue, r ReceiveRequest) (Received, *Error) {
	if q.FIFO && r.Attempt != nil && !goodID(*r.Attempt) {
		return Received{}, badID("ReceiveRequestAttemptId", *r.Attempt)
	}
	if !q.FIFO || r.Attempt != nil && (r.Delete || r.Session == nil) || r.Session != nil && r.Visibility != nil {
		return Received{}, &Error{Code: "UnsupportedOperation"}
	}
	if err := q.refusesReceives(); err != nil {
		return Received{}, err
	}
	if r.Session == nil {
		return b.consume(q, b.pick(q, r), or(r.Visibility, q.Settings.Visibility), 0, r), nil
	}
	s, err := b.open(q, *r.Session)
	if err != nil {
		return Received{}, err
	}
	if r.Attempt != nil {
		if a := q.attempt(*r.Attempt); a != nil {
			return b.replayInSession(q, a, s, r)
		}
	}
	if q.Settings.Paused {
		return Received{}, nil
	}
	var picked []*Message
	for _, m := range slices.Clone(q.messages) {
		if !m.Grouped || m.Group != s.name || m.Scheduled || m.Deferred {
			continue
		}
		if int64(len(picked)) == or(r.Max, 1) {
			break
		}
		if b.inFlight(q, m) {
			continue // the holder already has it
		}
		if !b.available(q, m) {
			break // it is delayed, and so are the messages after it
		}
		if target := b.deadLetterTarget(q, m); target != nil {
			b.deadLetterByCount(q, target, m)
			continue
		}
		picked = append(picked, m)
	}
	return b.consume(q, picked, 0, s.lock, r), nil
}

// replayInSession answers a repeated receive in a session with its messages that are still in
// flight. With the profile aws all of them must be.
func (b *Broker) replayInSession(q *Queue, a *attempt, s *session, r ReceiveRequest) (Received, *Error) {
	answer := Received{Replayed: true}
	for _, p := range a.parts {
		held := slices.Contains(q.messages, p.m) && p.m.Lock == s.lock && p.m.Delivery == p.delivery && !p.m.Deferred && !b.over(q, p.m)
		if !q.Settings.YMQReceive && (a.invalid || !held) {
			return Received{}, a.spent()
		}
		if held && (!q.Settings.YMQReceive || int64(len(answer.Messages)) < or(r.Max, 1)) {
			answer.Messages = append(answer.Messages, b.delivered(q, p.m))
		}
	}
	return answer, nil
}

// consume delivers messages: with a visibility timeout, under a session lock, or deleting them.
func (b *Broker) consume(q *Queue, picked []*Message, timeout int64, lock int, r ReceiveRequest) (answer Received) {
	var a *attempt
	if r.Attempt != nil && len(picked) > 0 {
		a = &attempt{id: *r.Attempt, at: b.now}
		q.attempts = append(q.attempts, a)
	}
	for _, m := range picked {
		b.deliver(q, m, timeout)
		m.Lock = lock
		d := b.delivered(q, m)
		if r.Delete {
			d.Delivery = 0
			b.touch(q, m)
			q.remove(m)
		} else {
			m.attempt = a
			if a != nil {
				a.parts = append(a.parts, attemptPart{m, m.Delivery})
			}
		}
		answer.Messages = append(answer.Messages, d)
	}
	return answer
}
