package oracle

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// Knows reports whether the model has a number for a sequence number of the product.
func (o *Oracle) Knows(name string, n queue.SequenceNumber) bool { return o.bound.number(name, n) != 0 }

// checkStored is Check for the commands of operators about stored messages.
func (o *Oracle) checkStored(cmd queue.Command, result queue.Result, refusal *queue.Error) (want Answer, d *Difference, known bool) {
	switch c := cmd.(type) {
	case *queue.DeleteStored:
		want.Entries, want.Err = o.Model.DeleteStored(c.Queue, o.numbers(c.Queue, c.Sequences), c.Force)
		return want, compareEntries(true, want, result, refusal), true
	case *queue.MoveStored:
		want.Stored, want.Err = o.Model.MoveStored(c.Queue, c.Destination, o.numbers(c.Queue, c.Sequences), c.Force)
		return want, o.compareMoved(want, result, refusal), true
	}
	return want, nil, false
}

func (o *Oracle) compareMoved(want Answer, result queue.Result, refusal *queue.Error) *Difference {
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return differ("I11", text)
	}
	got, ok := result.(queue.StoredMoved)
	if !ok || len(got.Entries) != len(want.Stored) {
		return differ("I11", fmt.Sprintf("product answered %T %+v to a move of %d messages", result, result, len(want.Stored)))
	}
	for i, m := range want.Stored {
		if d := o.compareMovedEntry(m, got.Entries[i]); d != nil {
			d.Text = fmt.Sprintf("entry %d: %s", i, d.Text)
			return d
		}
	}
	return nil
}

func (o *Oracle) compareMovedEntry(want reference.MovedEntry, got queue.MovedEntry) *Difference {
	if text := errorDifference(want.Err, got.Err); text != "" || want.Err != nil {
		return differ("I11", text)
	}
	if got.Destination != want.Destination {
		return differ("I1", fmt.Sprintf("moved to %q, model to %q", got.Destination, want.Destination))
	}
	return differ("I9", o.bound.bindNumber(want.Destination, want.Number, got.Sequence))
}
