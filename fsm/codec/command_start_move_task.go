package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// startMoveTaskMessage is the log form of cmd.
func startMoveTaskMessage(cmd *queue.StartMoveTask) *fsmpb.StartMoveTask {
	return &fsmpb.StartMoveTask{
		Source:       cmd.Source,
		Destination:  cmd.Destination,
		MaxPerSecond: given(cmd.MaxPerSecond),
	}
}

// startMoveTaskCommand is the inverse of startMoveTaskMessage.
func startMoveTaskCommand(m *fsmpb.StartMoveTask) (*queue.StartMoveTask, error) {
	return &queue.StartMoveTask{
		Source:       m.Source,
		Destination:  m.Destination,
		MaxPerSecond: integer(m.MaxPerSecond),
	}, nil
}
