package fsm

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// createQueueMessage is the log form of cmd.
func createQueueMessage(cmd *queue.CreateQueue) *fsmpb.CreateQueue {
	return &fsmpb.CreateQueue{
		Queue:        cmd.Queue,
		Attributes:   nameValues(cmd.Attributes),
		Tags:         tagValues(cmd.Tags),
		Redrive:      redriveMessage(cmd.Policies.Redrive),
		RedriveAllow: redriveAllowMessage(cmd.Policies.RedriveAllow),
	}
}

// createQueueCommand is the inverse of createQueueMessage.
func createQueueCommand(m *fsmpb.CreateQueue) (*queue.CreateQueue, error) {
	return &queue.CreateQueue{
		Queue:      m.Queue,
		Attributes: attributesOf(m.Attributes),
		Tags:       tags(m.Tags),
		Policies:   queue.Policies{Redrive: redrivePolicy(m.Redrive), RedriveAllow: redriveAllowPolicy(m.RedriveAllow)},
	}, nil
}
