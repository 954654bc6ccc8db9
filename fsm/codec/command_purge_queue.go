package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// purgeQueueMessage is the log form of cmd.
func purgeQueueMessage(cmd *queue.PurgeQueue) *fsmpb.PurgeQueue {
	return &fsmpb.PurgeQueue{
		Queue: cmd.Queue,
	}
}

// purgeQueueCommand is the inverse of purgeQueueMessage.
func purgeQueueCommand(m *fsmpb.PurgeQueue) (*queue.PurgeQueue, error) {
	return &queue.PurgeQueue{
		Queue: m.Queue,
	}, nil
}
