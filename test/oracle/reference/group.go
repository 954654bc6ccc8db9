package reference

import (
	"cmp"
	"slices"
)

// lines splits a queue's messages into the sequences in which they may be
// handed out: one per message group. A message of a standard queue, or without
// a group (MessageGroupIdMode=Optional), has nobody before it and is a line of
// its own.
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

// receivable is the prefix rule (sqs.md 4.2): walk the line and stop at the
// first message that is not available.
func (b *Broker) receivable(q *Queue, line []*Message) []*Message {
	for i, m := range line {
		if !b.available(q, m) {
			return line[:i]
		}
	}
	return line
}

// servingOrder gives the receivable part of every line in the order of
// sqs.md 4.4: by the moment the first one became available, then by number. A
// standard queue serves the oldest first, so that a message that comes back
// comes before newer ones (sqs.md 5).
func (b *Broker) servingOrder(q *Queue) [][]*Message {
	var ready [][]*Message
	for _, line := range b.lines(q) {
		if q.lockOf(line[0].Group, b.now) != 0 && q.FIFO {
			continue // its holder alone receives from it
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
			cmp.Compare(b.availableSince(q, x[0]), b.availableSince(q, y[0])),
			cmp.Compare(x[0].Number, y[0].Number),
		)
	})
	return ready
}
