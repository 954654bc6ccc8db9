package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// createQueueMessage is the log form of cmd.
func createQueueMessage(cmd *queue.CreateQueue) *fsmpb.CreateQueue {
	return &fsmpb.CreateQueue{
		Queue:        cmd.Queue,
		Attributes:   protobuf.NameValues(cmd.Attributes),
		Tags:         protobuf.TagValues(cmd.Tags),
		Redrive:      protobuf.RedriveMessage(cmd.Policies.Redrive),
		RedriveAllow: protobuf.RedriveAllowMessage(cmd.Policies.RedriveAllow),
	}
}

// createQueueCommand is the inverse of createQueueMessage.
func createQueueCommand(m *fsmpb.CreateQueue) (*queue.CreateQueue, error) {
	return &queue.CreateQueue{
		Queue:      m.Queue,
		Attributes: protobuf.Attributes(m.Attributes),
		Tags:       protobuf.Tags(m.Tags),
		Policies:   queue.Policies{Redrive: protobuf.RedrivePolicy(m.Redrive), RedriveAllow: protobuf.RedriveAllowPolicy(m.RedriveAllow)},
	}, nil
}
