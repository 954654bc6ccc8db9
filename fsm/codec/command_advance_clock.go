package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// advanceClockMessage is the log form of AdvanceClock: the time is that of
// the entry, so nothing is left to say.
func advanceClockMessage(*queue.AdvanceClock) *fsmpb.AdvanceClock {
	return &fsmpb.AdvanceClock{}
}

// advanceClockCommand is the inverse of advanceClockMessage.
func advanceClockCommand(*fsmpb.AdvanceClock) (*queue.AdvanceClock, error) {
	return &queue.AdvanceClock{}, nil
}
