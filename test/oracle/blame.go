package oracle

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// sight is the model's view of the delivered messages, before the model's own receive changes them.
type sight struct {
	states []reference.MessageState // of the product's messages, in order
	known  []bool                   // by message: whether the model knows its id
}

func (o *Oracle) lookAt(name string, result queue.Result) (s sight) {
	got, ok := result.(queue.MessagesReceived)
	q := o.Model.Queue(name)
	if !ok || q == nil {
		return s
	}
	var ids []int
	for i := range got.Messages {
		id, known := o.bound.messages.model[got.Messages[i].MessageID]
		s.known = append(s.known, known)
		ids = append(ids, id)
	}
	s.states = o.Model.Standings(q, ids)
	return s
}

// blame returns the invariant that a wrong choice of messages breaks.
func (o *Oracle) blame(before sight, want reference.Received, got queue.MessagesReceived) string {
	if want.Replayed || got.Replayed {
		return "I6"
	}
	for i, m := range got.Messages {
		switch id := o.bound.messages.model[m.MessageID]; {
		case wanted(want, id):
		case !before.known[i]:
			return "I2" // it was never sent
		case before.states[i].Gone:
			return "I8"
		case before.states[i].InFlight:
			return "I10"
		case before.states[i].BehindReturned:
			return "I4" // a message that becomes visible again keeps its place
		case before.states[i].Behind:
			return "I5"
		}
	}
	return "I11"
}

func wanted(want reference.Received, id int) bool {
	for _, m := range want.Messages {
		if m.Message == id {
			return true
		}
	}
	return false
}
