package reference

import (
	"slices"
	"strings"
)

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
		q.usedAt = max(q.usedAt, next.DueAt)
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

// publishScheduled publishes the scheduled messages of topics that are due, by time, topic and order of
// acceptance, as if each was published now: it keeps its message id and gets a new number.
func (b *Broker) publishScheduled() {
	for {
		var of *Topic
		at := 0
		for _, t := range b.topics { // in any order, as the names decide
			for i, a := range t.scheduled {
				earlier := of == nil || a.At < of.scheduled[at].At || a.At == of.scheduled[at].At && t.Name < of.Name
				if a.At <= b.now && earlier {
					of, at = t, i
				}
			}
		}
		if of == nil {
			return
		}
		a := of.scheduled[at]
		of.scheduled = slices.Delete(of.scheduled, at, at+1)
		of.usedAt = max(of.usedAt, a.At)
		a.At, a.Number = b.now, b.nextNumber(of)
		b.deliveries.Scheduled++
		b.distribute(of, a)
	}
}

// scheduledAt returns the index of the scheduled message with a number, -1 if there is none.
func (t *Topic) scheduledAt(number int) int {
	return slices.IndexFunc(t.scheduled, func(a archived) bool { return a.Number == number })
}

// CancelPublish is Cancel for the scheduled messages of a topic.
func (b *Broker) CancelPublish(name string, numbers []int, forgetIDs bool) ([]*Error, *Error) {
	if !strings.HasSuffix(name, ".fifo") {
		return nil, &Error{Code: "UnsupportedOperation"}
	}
	t := b.topics[name]
	if t == nil {
		return nil, topicNotFound()
	}
	t.usedAt = b.now
	var answers []*Error
	for _, number := range numbers {
		i := t.scheduledAt(number)
		if i < 0 {
			answers = append(answers, &Error{Code: "MessageNotFound"})
			continue
		}
		t.scheduled = slices.Delete(t.scheduled, i, i+1)
		if forgetIDs {
			t.history.accepted = slices.DeleteFunc(t.history.accepted, func(r remembered) bool { return r.number == number })
			t.changedAt = b.now
		}
		answers = append(answers, nil)
	}
	return answers, nil
}

// Scheduled is a message that a topic publishes later.
type Scheduled struct {
	Message, Number int
	At              int64
	Text, Group, ID string
	Partition       string
}

// Scheduled returns the scheduled messages in the order of their acceptance.
func (t *Topic) Scheduled() (list []Scheduled) {
	for _, a := range t.scheduled {
		list = append(list, Scheduled{a.Message, a.Number, a.At, a.Text, a.group, a.id, a.Partition})
	}
	return list
}
