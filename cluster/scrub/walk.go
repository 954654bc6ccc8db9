package scrub

import (
	"github.com/seriatimq/seriatim/queue"
)

// pageMessages are read while the state cannot change.
const pageMessages = 100

// located is a stored body with its message.
type located struct {
	queue    string
	sequence queue.SequenceNumber
	body     queue.Body
}

// walk is a position in the walk over all messages, by queue and sequence number. The zero value is
// the start.
type walk struct {
	queue string
	from  queue.SequenceNumber // in queue; 0: the queue is done
}

// page returns the stored bodies of the next messages; more is false at the end.
func (w *walk) page(v queue.View) (bodies []located, more bool) {
	if w.from == 0 {
		next := v.ListQueues("", w.queue, 1)
		if len(next) == 0 {
			*w = walk{}
			return nil, false
		}
		*w = walk{queue: next[0], from: 1}
	}
	messages, refusal := v.Peek(w.queue, w.from, "", pageMessages)
	if refusal != nil || len(messages) == 0 { // the queue was deleted, or has no more
		w.from = 0
		return nil, true
	}
	for i := range messages {
		if body := messages[i].Body; body.Stored() {
			bodies = append(bodies, located{w.queue, messages[i].Sequence, body})
		}
	}
	if w.from = messages[len(messages)-1].Sequence + 1; len(messages) < pageMessages {
		w.from = 0
	}
	return bodies, true
}

func bodyOf(v queue.View, name string, sequence queue.SequenceNumber) (body queue.Body, found bool) {
	messages, refusal := v.Peek(name, sequence, "", 1)
	if refusal != nil || len(messages) == 0 || messages[0].Sequence != sequence {
		return body, false
	}
	return messages[0].Body, true
}
