package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// setQueuePolicyMessage is the log form of cmd.
func setQueuePolicyMessage(cmd *queue.SetQueuePolicy) *fsmpb.SetQueuePolicy {
	return &fsmpb.SetQueuePolicy{
		Queue:      cmd.Queue,
		QueueArn:   cmd.QueueARN,
		Label:      cmd.Label,
		Remove:     cmd.Remove,
		AccountIds: cmd.AccountIDs,
		Actions:    cmd.Actions,
	}
}

// setQueuePolicyCommand is the inverse of setQueuePolicyMessage.
func setQueuePolicyCommand(m *fsmpb.SetQueuePolicy) (*queue.SetQueuePolicy, error) {
	return &queue.SetQueuePolicy{
		Queue:      m.Queue,
		QueueARN:   m.QueueArn,
		Label:      m.Label,
		Remove:     m.Remove,
		AccountIDs: m.AccountIds,
		Actions:    m.Actions,
	}, nil
}
