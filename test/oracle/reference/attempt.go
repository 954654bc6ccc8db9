package reference

import "slices"

// attempt is a remembered ReceiveRequestAttemptId with the answer to its first receive. If an id is
// registered again, that is another attempt, so that no message belongs to an older one (ymq.md 4).
type attempt struct {
	id      string
	at      int64
	parts   []attemptPart
	invalid bool
}

type attemptPart struct {
	m        *Message
	delivery int
}

// attempt returns the record of an id, unless it has expired.
func (q *Queue) attempt(id string) *attempt {
	for _, a := range q.attempts {
		if a.id == id {
			return a
		}
	}
	return nil
}

// forgetAttempts deletes the records whose window is over. It begins with the first receive, and at
// its very end the id is forgotten.
func (q *Queue) forgetAttempts(now int64) {
	q.attempts = slices.DeleteFunc(q.attempts, func(a *attempt) bool {
		return now >= a.at+q.Settings.AttemptWindow*1000
	})
}

// touch is called when a message of an attempt was deleted or its visibility changed. With the
// profile aws the attempt is marked as spoiled (sqs.md 4.7), with ymq it is forgotten (ymq.md 4).
func (b *Broker) touch(q *Queue, m *Message) {
	a := m.attempt
	if a == nil {
		return
	}
	a.invalid = true
	if q.Settings.YMQReceive {
		q.attempts = slices.DeleteFunc(q.attempts, func(x *attempt) bool { return x == a })
	}
}

// replay answers a repeated receive.
func (b *Broker) replay(q *Queue, a *attempt, r ReceiveRequest) (Received, *Error) {
	parts := a.parts
	if q.Settings.YMQReceive {
		parts = b.remaining(q, a, or(r.Max, 1))
	} else if !b.replayable(q, a) {
		return Received{}, a.spent()
	}
	answer := Received{Replayed: true}
	for _, p := range parts {
		p.m.HiddenTill = b.now + or(r.Visibility, q.Settings.Visibility)*1000
		answer.Messages = append(answer.Messages, b.delivered(q, p.m))
	}
	return answer, nil
}

// spent refuses a repeated receive whose messages have changed.
func (a *attempt) spent() *Error {
	return &Error{
		"InvalidParameterValue",
		"Value " + a.id + " for parameter ReceiveRequestAttemptId is invalid. Reason: " +
			"The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
	}
}

// replayable (aws) reports whether every message is still in flight with its recorded handle, not
// deleted, and with unchanged visibility.
func (b *Broker) replayable(q *Queue, a *attempt) bool {
	if a.invalid {
		return false
	}
	for _, p := range a.parts {
		if !slices.Contains(q.messages, p.m) || !b.inFlight(q, p.m) || p.m.Lock != 0 || p.m.Delivery != p.delivery {
			return false
		}
	}
	return true
}

// remaining (ymq) returns the messages of the attempt that no other receive has returned, visible or
// not, up to the maximum of this call (ymq.md 4, 4.1). None is returned before an earlier message
// of its group, unless that is in the same answer (decision 14).
func (b *Broker) remaining(q *Queue, a *attempt, room int64) []attemptPart {
	var parts []attemptPart
	chosen := map[*Message]bool{}
	for _, p := range a.parts {
		if int64(len(parts)) == room {
			break
		}
		if !slices.Contains(q.messages, p.m) || p.m.attempt != a || p.m.Lock != 0 || q.lockOf(p.m.Group, b.now) != 0 {
			continue
		}
		if b.overtakes(q, p.m, chosen) {
			continue
		}
		chosen[p.m] = true
		parts = append(parts, p)
	}
	return parts
}

func (b *Broker) overtakes(q *Queue, m *Message, chosen map[*Message]bool) bool {
	for _, line := range b.lines(q) {
		at := slices.Index(line, m)
		for i := range at {
			if !chosen[line[i]] {
				return true
			}
		}
	}
	return false
}

// Remembers reports whether a receive with this attempt id would repeat an earlier one.
func (q *Queue) Remembers(id string) bool { return q.attempt(id) != nil }
