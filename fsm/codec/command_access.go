package codec

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
)

// createAccessKeyMessage is the log form of cmd.
func createAccessKeyMessage(cmd *queue.CreateAccessKey) *fsmpb.CreateAccessKey {
	return &fsmpb.CreateAccessKey{Id: cmd.ID, Secret: cmd.Secret, Sealed: []byte(cmd.Sealed), Account: cmd.Account, User: cmd.User, Tenant: cmd.Tenant}
}

// createAccessKeyCommand is the inverse of createAccessKeyMessage.
func createAccessKeyCommand(m *fsmpb.CreateAccessKey) (*queue.CreateAccessKey, error) {
	return &queue.CreateAccessKey{ID: m.Id, Secret: m.Secret, Sealed: string(m.Sealed), Account: m.Account, User: m.User, Tenant: m.Tenant}, nil
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
	return &fsmpb.PutUserPolicy{Account: cmd.Account, User: cmd.User, Policy: cmd.Policy, Tenant: cmd.Tenant}
}

// putUserPolicyCommand is the inverse of putUserPolicyMessage.
func putUserPolicyCommand(m *fsmpb.PutUserPolicy) (*queue.PutUserPolicy, error) {
	return &queue.PutUserPolicy{Account: m.Account, User: m.User, Policy: m.Policy, Tenant: m.Tenant}, nil
}

func quotaMessage(q account.Quota) *fsmpb.Quota {
	return &fsmpb.Quota{Queues: q.Queues, Topics: q.Topics, Messages: q.Messages, Bytes: q.Bytes, RequestsPerSecond: q.RequestsPerSecond}
}

func quota(m *fsmpb.Quota) account.Quota {
	return account.Quota{
		Queues: m.GetQueues(), Topics: m.GetTopics(), Messages: m.GetMessages(), Bytes: m.GetBytes(), RequestsPerSecond: m.GetRequestsPerSecond(),
	}
}

// createAccountMessage is the log form of cmd.
func createAccountMessage(cmd *queue.CreateAccount) *fsmpb.CreateAccount {
	return &fsmpb.CreateAccount{Account: cmd.Account, Quota: quotaMessage(cmd.Quota)}
}

// createAccountCommand is the inverse of createAccountMessage.
func createAccountCommand(m *fsmpb.CreateAccount) (*queue.CreateAccount, error) {
	return &queue.CreateAccount{Account: m.Account, Quota: quota(m.Quota)}, nil
}

// setAccountQuotaMessage is the log form of cmd.
func setAccountQuotaMessage(cmd *queue.SetAccountQuota) *fsmpb.SetAccountQuota {
	return &fsmpb.SetAccountQuota{Account: cmd.Account, Quota: quotaMessage(cmd.Quota)}
}

// setAccountQuotaCommand is the inverse of setAccountQuotaMessage.
func setAccountQuotaCommand(m *fsmpb.SetAccountQuota) (*queue.SetAccountQuota, error) {
	return &queue.SetAccountQuota{Account: m.Account, Quota: quota(m.Quota)}, nil
}

// deleteAccountMessage is the log form of cmd.
func deleteAccountMessage(cmd *queue.DeleteAccount) *fsmpb.DeleteAccount {
	return &fsmpb.DeleteAccount{Account: cmd.Account}
}

// deleteAccountCommand is the inverse of deleteAccountMessage.
func deleteAccountCommand(m *fsmpb.DeleteAccount) (*queue.DeleteAccount, error) {
	return &queue.DeleteAccount{Account: m.Account}, nil
}

// setSealingKeyMessage is the log form of cmd.
func setSealingKeyMessage(cmd *queue.SetSealingKey) *fsmpb.SetSealingKey {
	m := &fsmpb.SetSealingKey{Id: cmd.ID, Replaces: cmd.Replaces, Drop: cmd.Drop}
	for _, w := range cmd.Wraps {
		m.Wraps = append(m.Wraps, &fsmpb.SealingKeyWrap{Holder: w.Holder, PublicKey: []byte(w.PublicKey), Text: []byte(w.Text)})
	}
	return m
}

// setSealingKeyCommand is the inverse of setSealingKeyMessage.
func setSealingKeyCommand(m *fsmpb.SetSealingKey) (*queue.SetSealingKey, error) {
	cmd := &queue.SetSealingKey{ID: m.Id, Replaces: m.Replaces, Drop: m.Drop}
	for _, w := range m.Wraps {
		cmd.Wraps = append(cmd.Wraps, access.Wrap{Holder: w.GetHolder(), PublicKey: string(w.GetPublicKey()), Text: string(w.GetText())})
	}
	return cmd, nil
}

// sealAccessKeyMessage is the log form of cmd.
func sealAccessKeyMessage(cmd *queue.SealAccessKey) *fsmpb.SealAccessKey {
	return &fsmpb.SealAccessKey{Id: cmd.ID, Sealed: []byte(cmd.Sealed), CreatedAt: int64(cmd.CreatedAt)}
}

// sealAccessKeyCommand is the inverse of sealAccessKeyMessage.
func sealAccessKeyCommand(m *fsmpb.SealAccessKey) (*queue.SealAccessKey, error) {
	return &queue.SealAccessKey{ID: m.Id, Sealed: string(m.Sealed), CreatedAt: queue.Timestamp(m.CreatedAt)}, nil
}
