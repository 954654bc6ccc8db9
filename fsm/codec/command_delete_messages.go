package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// deleteMessagesMessage is the log form of cmd.
func deleteMessagesMessage(cmd *queue.DeleteMessages) *fsmpb.DeleteMessages {
	return &fsmpb.DeleteMessages{
		Queue:   cmd.Queue,
		Batch:   cmd.Batch,
		Handles: cmd.Handles,
	}
}

// deleteMessagesCommand is the inverse of deleteMessagesMessage.
func deleteMessagesCommand(m *fsmpb.DeleteMessages) (*queue.DeleteMessages, error) {
	return &queue.DeleteMessages{
		Queue:   m.Queue,
		Batch:   m.Batch,
		Handles: m.Handles,
	}, nil
}
