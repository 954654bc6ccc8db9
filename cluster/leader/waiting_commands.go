package leader

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// waitingPlace identifies the events that resume a waiting command.
type waitingPlace = codec.WaitingPlace

// Waits reports whether a command can wait.
func Waits(cmd queue.Command) bool { return codec.WaitingOf(cmd) != nil }

// worthProposing reports whether a command would change the state. The table of commands decides
// for those that wait.
func worthProposing(cmd queue.Command, v queue.View) bool {
	w := codec.WaitingOf(cmd)
	return w == nil || w.Worth(cmd, v)
}
