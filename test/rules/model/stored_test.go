package model

import (
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
)

// Actions of operators name stored messages by their places in the queue, so that a shrunken history
// still finds some.
type (
	deleteStored struct {
		name   string
		places []int // a negative one is no message
		force  bool
	}
	moveStored struct {
		name, destination string
		places            []int
		force             bool
	}
)

func (c deleteStored) command(w *world) queue.Command {
	return &queue.DeleteStored{Queue: c.name, Sequences: w.stored(c.name, c.places), Force: c.force}
}

func (c moveStored) command(w *world) queue.Command {
	return &queue.MoveStored{Queue: c.name, Destination: c.destination, Sequences: w.stored(c.name, c.places), Force: c.force}
}

// stored returns the sequence numbers of messages that the model knows by number.
func (w *world) stored(name string, places []int) (list []queue.SequenceNumber) {
	peeked, _ := w.plain().View().Peek(name, 0, "", 1000) // a missing queue has none
	peeked = slices.DeleteFunc(peeked, func(m queue.PeekedMessage) bool { return !w.oracle.Knows(name, m.Sequence) })
	for _, place := range places {
		n := queue.SequenceNumber(1<<40 - place)
		if place >= 0 && len(peeked) > 0 {
			n = peeked[place%len(peeked)].Sequence
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// storedAction deletes or moves a few messages in any state.
func (g *generator) storedAction(k kind) action {
	var places []int
	for range 1 + g.rng.IntN(3) {
		places = append(places, g.rng.IntN(50))
	}
	if g.oneIn(10) {
		places = append(places, -1)
	}
	if g.oneIn(3) {
		return deleteStored{k.name, places, g.oneIn(3)}
	}
	destination := pickOf(g, g.kinds...).name
	if k.dead && g.oneIn(2) {
		destination = ""
	}
	return moveStored{k.name, destination, places, g.oneIn(3)}
}

// countStored is count for the actions of operators.
func (w *world) countStored(s step, want oracle.Answer) {
	switch s.do.(type) {
	case deleteStored:
		for _, e := range want.Entries {
			if e == nil {
				w.hits["deleted by an operator"]++
			}
		}
	case moveStored:
		for _, e := range want.Stored {
			if e.Err == nil {
				w.hits["moved by an operator"]++
			} else {
				w.hits["entry refused "+e.Err.Code]++
			}
		}
	}
}
