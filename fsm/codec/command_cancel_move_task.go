package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// cancelMoveTaskMessage is the log form of cmd.
func cancelMoveTaskMessage(cmd *queue.CancelMoveTask) *fsmpb.CancelMoveTask {
	return &fsmpb.CancelMoveTask{
		TaskId: cmd.TaskID,
		Source: cmd.Source,
	}
}

// cancelMoveTaskCommand is the inverse of cancelMoveTaskMessage.
func cancelMoveTaskCommand(m *fsmpb.CancelMoveTask) (*queue.CancelMoveTask, error) {
	return &queue.CancelMoveTask{
		TaskID: m.TaskId,
		Source: m.Source,
	}, nil
}
