package fsm

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// setQueueAttributesMessage is the log form of cmd.
func setQueueAttributesMessage(cmd *queue.SetQueueAttributes) *fsmpb.SetQueueAttributes {
	return &fsmpb.SetQueueAttributes{
		Queue:        cmd.Queue,
		Attributes:   nameValues(cmd.Attributes),
		Redrive:      redriveMessage(cmd.Policies.Redrive),
		RedriveAllow: redriveAllowMessage(cmd.Policies.RedriveAllow),
	}
}

// setQueueAttributesCommand is the inverse of setQueueAttributesMessage.
func setQueueAttributesCommand(m *fsmpb.SetQueueAttributes) (*queue.SetQueueAttributes, error) {
	return &queue.SetQueueAttributes{
		Queue:      m.Queue,
		Attributes: attributesOf(m.Attributes),
		Policies:   queue.Policies{Redrive: redrivePolicy(m.Redrive), RedriveAllow: redriveAllowPolicy(m.RedriveAllow)},
	}, nil
}
