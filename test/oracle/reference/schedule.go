package reference

import "slices"

// activateScheduled appends the scheduled messages that are due, as if each was sent at its time
// (servicebus.md 4). Equal times keep the order of acceptance (servicebus.md 8, 24).
func (b *Broker) activateScheduled(q *Queue) {
	for {
		var next *Message
		for _, m := range q.messages {
			if m.Scheduled && m.DueAt <= b.now && (next == nil || m.DueAt < next.DueAt) {
				next = m
			}
		}
		if next == nil {
			return
		}
		q.remove(next)
		next.Scheduled = false
		next.SentAt, next.Prompt = next.DueAt, true
		b.insert(q, next)
	}
}

func (b *Broker) isScheduled(q *Queue, number int) bool {
	m := q.numbered(number)
	return m != nil && m.Scheduled
}

// Cancel deletes scheduled messages by the numbers of their acceptance, which are valid until they
// are due (servicebus.md 4).
func (b *Broker) Cancel(name string, numbers []int, forgetIDs bool) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	var answers []*Error
	for _, number := range numbers {
		m := q.numbered(number)
		if !b.isScheduled(q, number) {
			answers = append(answers, &Error{Code: "MessageNotFound"})
			continue
		}
		q.remove(m)
		forget([]*Message{m})
		if forgetIDs {
			q.history.accepted = slices.DeleteFunc(q.history.accepted, func(r remembered) bool { return r.number == number })
			q.forgot, q.forgotAt = true, b.now
		}
		answers = append(answers, nil)
	}
	return answers, nil
}
