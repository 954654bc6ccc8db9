package fsm

import (
	"slices"

	"github.com/seriatimq/seriatim/queue"
)

// stored deletes or moves recent messages as an operator does, or pauses the queue.
func (c *commands) stored() queue.Command {
	name := []string{"a.fifo", "b.fifo", "dead.fifo"}[c.operator.IntN(3)]
	sequences := c.numbers()
	slices.Sort(sequences)
	sequences = slices.Compact(sequences)
	switch c.operator.IntN(6) {
	case 0, 1:
		return &queue.DeleteStored{Queue: name, Sequences: sequences, Force: c.operator.IntN(2) == 0}
	case 2, 3, 4:
		destination := []string{"", "dead.fifo", "b.fifo", "none.fifo"}[c.operator.IntN(4)]
		return &queue.MoveStored{Queue: name, Destination: destination, Sequences: sequences, Force: c.operator.IntN(2) == 0}
	default:
		return &queue.SetQueueAttributes{Queue: name, Attributes: []queue.Attribute{
			{Name: "DeliveryPaused", Value: []string{"true", "false", "false", "false"}[c.operator.IntN(4)]}}}
	}
}
