package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// createAccessKeyMessage is the log form of cmd.
func createAccessKeyMessage(cmd *queue.CreateAccessKey) *fsmpb.CreateAccessKey {
	return &fsmpb.CreateAccessKey{Id: cmd.ID, Secret: cmd.Secret, Account: cmd.Account, User: cmd.User}
}

// createAccessKeyCommand is the inverse of createAccessKeyMessage.
func createAccessKeyCommand(m *fsmpb.CreateAccessKey) (*queue.CreateAccessKey, error) {
	return &queue.CreateAccessKey{ID: m.Id, Secret: m.Secret, Account: m.Account, User: m.User}, nil
}

// updateAccessKeyMessage is the log form of cmd.
func updateAccessKeyMessage(cmd *queue.UpdateAccessKey) *fsmpb.UpdateAccessKey {
	return &fsmpb.UpdateAccessKey{Id: cmd.ID, Active: cmd.Active}
}

// updateAccessKeyCommand is the inverse of updateAccessKeyMessage.
func updateAccessKeyCommand(m *fsmpb.UpdateAccessKey) (*queue.UpdateAccessKey, error) {
	return &queue.UpdateAccessKey{ID: m.Id, Active: m.Active}, nil
}

// deleteAccessKeyMessage is the log form of cmd.
func deleteAccessKeyMessage(cmd *queue.DeleteAccessKey) *fsmpb.DeleteAccessKey {
	return &fsmpb.DeleteAccessKey{Id: cmd.ID}
}

// deleteAccessKeyCommand is the inverse of deleteAccessKeyMessage.
func deleteAccessKeyCommand(m *fsmpb.DeleteAccessKey) (*queue.DeleteAccessKey, error) {
	return &queue.DeleteAccessKey{ID: m.Id}, nil
}

// putUserPolicyMessage is the log form of cmd.
func putUserPolicyMessage(cmd *queue.PutUserPolicy) *fsmpb.PutUserPolicy {
	return &fsmpb.PutUserPolicy{Account: cmd.Account, User: cmd.User, Policy: cmd.Policy}
}

// putUserPolicyCommand is the inverse of putUserPolicyMessage.
func putUserPolicyCommand(m *fsmpb.PutUserPolicy) (*queue.PutUserPolicy, error) {
	return &queue.PutUserPolicy{Account: m.Account, User: m.User, Policy: m.Policy}, nil
}
