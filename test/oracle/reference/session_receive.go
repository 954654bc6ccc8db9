package reference

import "slices"

// receiveBus is a receive in a session, or one that settles what it hands out, or both
// (servicebus.md 3, 4). Attempt ids and visibility timeouts have no meaning there.
func (b *Broker) receiveBus(q *Queue, r ReceiveRequest) (Received, *Error) {
	if !q.FIFO || r.Attempt != nil || r.Session != nil && r.Visibility != nil {
		return Received{}, &Error{Code: "UnsupportedOperation"}
	}
	if r.Session == nil {
		return b.consume(q, b.pick(q, r), or(r.Visibility, q.Settings.Visibility), 0, r.Delete), nil
	}
	s, err := b.open(q, *r.Session)
	if err != nil {
		return Received{}, err
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
			if b.bugs[SessionOneInFlight] {
				break
			}
			continue // the holder has it already
		}
		if !b.available(q, m) {
			break // still delayed: nothing behind it comes first
		}
		if target := b.deadLetterTarget(q, m); target != nil {
			b.deadLetter(q, target, m)
			continue
		}
		picked = append(picked, m)
	}
	return b.consume(q, picked, 0, s.lock, r.Delete), nil
}

// consume hands messages out: under a visibility timeout, under a session lock, or for
// good.
func (b *Broker) consume(q *Queue, picked []*Message, timeout int64, lock int, settle bool) (answer Received) {
	for _, m := range picked {
		b.deliver(q, m, timeout)
		m.Lock = lock
		d := b.delivered(q, m)
		if settle {
			d.Delivery = 0
			b.touch(q, m)
			if !b.bugs[ReceiveAndDeleteKeeps] {
				q.remove(m)
			}
		} else {
			m.attempt = nil
		}
		answer.Messages = append(answer.Messages, d)
	}
	return answer
}
