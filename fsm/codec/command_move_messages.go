package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

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
