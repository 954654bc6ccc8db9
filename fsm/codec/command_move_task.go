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

// moveMessagesMessage is the log form of cmd.
func moveMessagesMessage(cmd *queue.MoveMessages) *fsmpb.MoveMessages {
	return &fsmpb.MoveMessages{
		TaskId: cmd.TaskID,
		Max:    int64(cmd.Max),
	}
}

// moveMessagesCommand is the inverse of moveMessagesMessage.
func moveMessagesCommand(m *fsmpb.MoveMessages) (*queue.MoveMessages, error) {
	return &queue.MoveMessages{
		TaskID: m.TaskId,
		Max:    int(m.Max),
	}, nil
}

// replayMessagesMessage is the log form of cmd.
func replayMessagesMessage(cmd *queue.ReplayMessages) *fsmpb.ReplayMessages {
	return &fsmpb.ReplayMessages{Subscription: cmd.Subscription, Max: int64(cmd.Max)}
}

// replayMessagesCommand is the inverse of replayMessagesMessage.
func replayMessagesCommand(m *fsmpb.ReplayMessages) (*queue.ReplayMessages, error) {
	return &queue.ReplayMessages{Subscription: m.Subscription, Max: int(m.Max)}, nil
}
