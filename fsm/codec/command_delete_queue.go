package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// deleteQueueMessage is the log form of cmd.
func deleteQueueMessage(cmd *queue.DeleteQueue) *fsmpb.DeleteQueue {
	return &fsmpb.DeleteQueue{
		Queue: cmd.Queue,
	}
}

// deleteQueueCommand is the inverse of deleteQueueMessage.
func deleteQueueCommand(m *fsmpb.DeleteQueue) (*queue.DeleteQueue, error) {
	return &queue.DeleteQueue{
		Queue: m.Queue,
	}, nil
}
