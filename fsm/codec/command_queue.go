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
	policies, err := protobuf.QueuePolicies(m.Redrive, m.RedriveAllow)
	if err != nil {
		return nil, err
	}
	return &queue.CreateQueue{
		Queue:      m.Queue,
		Attributes: protobuf.Attributes(m.Attributes),
		Tags:       protobuf.Tags(m.Tags),
		Policies:   policies,
	}, nil
}

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
	policies, err := protobuf.QueuePolicies(m.Redrive, m.RedriveAllow)
	if err != nil {
		return nil, err
	}
	return &queue.SetQueueAttributes{
		Queue:      m.Queue,
		Attributes: protobuf.Attributes(m.Attributes),
		Policies:   policies,
	}, nil
}

// setQueueTagsMessage is the log form of cmd.
func setQueueTagsMessage(cmd *queue.SetQueueTags) *fsmpb.SetQueueTags {
	return &fsmpb.SetQueueTags{
		Queue:  cmd.Queue,
		Set:    protobuf.TagValues(cmd.Set),
		Remove: cmd.Remove,
	}
}

// setQueueTagsCommand is the inverse of setQueueTagsMessage.
func setQueueTagsCommand(m *fsmpb.SetQueueTags) (*queue.SetQueueTags, error) {
	return &queue.SetQueueTags{
		Queue:  m.Queue,
		Set:    protobuf.Tags(m.Set),
		Remove: m.Remove,
	}, nil
}

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
