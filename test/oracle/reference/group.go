package reference

import (
	"cmp"
	"slices"
)

// lines returns the sequences in which a queue's messages may be delivered, one for each message
// group. A message of a standard queue, or without a group (MessageGroupIdMode=Optional), is a
// sequence of its own.
func (b *Broker) lines(q *Queue) [][]*Message {
	var lines [][]*Message
	place := map[string]int{}
	for _, m := range q.messages {
		if m.Scheduled || m.Deferred {
			continue
		}
		if !q.FIFO || !m.Grouped {
			lines = append(lines, []*Message{m})
			continue
		}
		i, known := place[m.Group]
		if !known {
			i = len(lines)
			place[m.Group] = i
			lines = append(lines, nil)
		}
		lines[i] = append(lines[i], m)
	}
	return lines
}

// receivable returns the part of a line that can be received (sqs.md 4.2): up to the first message
// that is not available.
func (b *Broker) receivable(q *Queue, line []*Message) []*Message {
	for i, m := range line {
		if !b.available(q, m) {
			return line[:i]
		}
	}
	return line
}

// servingKey is the time by which a FIFO queue serves a line with a first message.
func (b *Broker) servingKey(q *Queue, m *Message) int64 {
	if !m.Grouped && m.Delivery != 0 {
		return m.SentAt
	}
	return b.availableSince(q, m)
}

// servingOrder returns the receivable part of every line in the order of sqs.md 4.4: by the time at
// which the first message became available, then by number. A standard queue serves the oldest
// message first, so that a message that becomes visible again is served before newer ones (sqs.md
// 5), and so does a FIFO queue with messages without a group (servicebus.md 5.2).
func (b *Broker) servingOrder(q *Queue) [][]*Message {
	var ready [][]*Message
	for _, line := range b.lines(q) {
		if q.lockOf(line[0].Group, b.now) != 0 && q.FIFO {
			continue // only its holder receives from it
		}
		if part := b.receivable(q, line); len(part) > 0 {
			ready = append(ready, part)
		}
	}
	slices.SortFunc(ready, func(x, y []*Message) int {
		if !q.FIFO {
			return cmp.Or(cmp.Compare(x[0].SentAt, y[0].SentAt), cmp.Compare(x[0].Number, y[0].Number))
		}
		return cmp.Or(
			cmp.Compare(b.servingKey(q, x[0]), b.servingKey(q, y[0])),
			cmp.Compare(x[0].Number, y[0].Number),
		)
	})
	return ready
}
