package reference

import (
	"cmp"
	"slices"
)

// storedMessage returns the message with a number in any state. One in flight needs force.
func (b *Broker) storedMessage(q *Queue, number int, force bool) (*Message, *Error) {
	m := q.numbered(number)
	switch {
	case m == nil:
		return nil, &Error{Code: "MessageNotFound"}
	case b.inFlight(q, m) && !force:
		return nil, &Error{Code: "MessageInFlight"}
	}
	return m, nil
}

// DeleteStored deletes messages by number. A number that the model does not know is 0.
func (b *Broker) DeleteStored(name string, numbers []int, force bool) ([]*Error, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	var answers []*Error
	for _, number := range numbers {
		m, err := b.storedMessage(q, number, force)
		if err == nil {
			b.touch(q, m)
			q.remove(m)
			forget([]*Message{m})
		}
		answers = append(answers, err)
	}
	return answers, nil
}

// MovedEntry is the result of one message that an operator moves.
type MovedEntry struct {
	Err         *Error
	Destination string
	Message     int
	Number      int // in the destination
}

// MoveStored moves messages by number, the lowest first. It is like a dead-letter move (servicebus.md
// 5.4): the message keeps its id, and the ids remembered by the target are neither used nor extended.
// Its time and counts begin anew, as those of a moved message do (sqs.md 6).
func (b *Broker) MoveStored(name, destination string, numbers []int, force bool) ([]MovedEntry, *Error) {
	q, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if destination != "" {
		if err := b.checkDestination(q, destination); err != nil {
			return nil, err
		}
	}
	answers := make([]MovedEntry, len(numbers))
	order := make([]int, len(numbers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(numbers[x], numbers[y]) })
	for _, i := range order {
		answers[i] = b.moveStored(q, destination, numbers[i], force)
	}
	return answers, nil
}

func (b *Broker) checkDestination(q *Queue, name string) *Error {
	switch target := b.queues[name]; {
	case target == nil:
		return &Error{Code: "ResourceNotFound"}
	case target.FIFO != q.FIFO || target == q:
		return &Error{Code: "InvalidParameterValue"}
	}
	return nil
}

func (b *Broker) moveStored(q *Queue, destination string, number int, force bool) MovedEntry {
	m, err := b.storedMessage(q, number, force)
	if err != nil {
		return MovedEntry{Err: err}
	}
	if destination == "" {
		if destination = m.Source; destination == "" {
			return MovedEntry{Err: &Error{Code: "ResourceNotFound"}}
		}
		if err := b.checkDestination(q, destination); err != nil {
			return MovedEntry{Err: err}
		}
	}
	target, _ := b.find(destination)
	b.touch(q, m)
	q.remove(m)
	target.usedAt = b.now
	c := &Message{
		ID: m.ID, Sent: m.Sent, Sender: m.Sender, Group: m.Group, Grouped: m.Grouped,
		DedupID: m.DedupID, DedupOf: m.DedupOf, Partition: m.Partition, SentAt: b.now,
		TimeToLive: target.timeToLive(0),
	}
	b.place(target, c, new(int64(0)), reservedValues{scheduled: m.Scheduled, dueAt: m.DueAt})
	return MovedEntry{Destination: destination, Message: c.ID, Number: c.Number}
}
