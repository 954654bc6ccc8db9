package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// setQueueAttributesMessage is the log form of cmd.
func setQueueAttributesMessage(cmd *queue.SetQueueAttributes) *fsmpb.SetQueueAttributes {
	return &fsmpb.SetQueueAttributes{
		Queue:        cmd.Queue,
		Attributes:   protobuf.NameValues(cmd.Attributes),
		Redrive:      protobuf.RedriveMessage(cmd.Policies.Redrive),
		RedriveAllow: protobuf.RedriveAllowMessage(cmd.Policies.RedriveAllow),
	}
}

// setQueueAttributesCommand is the inverse of setQueueAttributesMessage.
func setQueueAttributesCommand(m *fsmpb.SetQueueAttributes) (*queue.SetQueueAttributes, error) {
	return &queue.SetQueueAttributes{
		Queue:      m.Queue,
		Attributes: protobuf.Attributes(m.Attributes),
		Policies:   queue.Policies{Redrive: protobuf.RedrivePolicy(m.Redrive), RedriveAllow: protobuf.RedriveAllowPolicy(m.RedriveAllow)},
	}, nil
}
