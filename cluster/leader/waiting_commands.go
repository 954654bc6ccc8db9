package leader

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// waitingPlace identifies the event that a command waits for. An event concerns a place.
type waitingPlace = codec.WaitingPlace

// Waits reports whether a command can wait for something to give.
func Waits(cmd queue.Command) bool { return codec.WaitingOf(cmd) != nil }

// worthProposing reports whether a command would do something in the log. Of those that
// wait, their line in the table of commands says when.
func worthProposing(cmd queue.Command, v queue.View) bool {
	w := codec.WaitingOf(cmd)
	return w == nil || w.Worth(cmd, v)
}
