package snapshot

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
)

func accessKeyMessage(k access.Key) *fsmpb.AccessKeyRecord {
	return &fsmpb.AccessKeyRecord{
		Id: k.ID, Secret: k.Secret, Account: k.User.Account, User: k.User.Name, Inactive: k.Inactive, CreatedAt: int64(k.CreatedAt),
		Sealed: []byte(k.Sealed),
	}
}

func accessKeyRecord(m *fsmpb.AccessKeyRecord) (access.Key, error) {
	return access.Key{
		ID: m.Id, Secret: m.Secret, Sealed: string(m.Sealed), User: access.User{Account: m.Account, Name: m.User},
		Inactive: m.Inactive, CreatedAt: queue.Timestamp(m.CreatedAt),
	}, nil
}

func userPolicyMessage(p access.Policy) *fsmpb.UserPolicyRecord {
	return &fsmpb.UserPolicyRecord{Account: p.User.Account, User: p.User.Name, Policy: p.Text}
}

func userPolicyRecord(m *fsmpb.UserPolicyRecord) (access.Policy, error) {
	return access.Policy{User: access.User{Account: m.Account, Name: m.User}, Text: m.Policy}, nil
}

func accountMessage(a access.Account) *fsmpb.AccountRecord {
	return &fsmpb.AccountRecord{
		Id: a.ID, Queues: a.Quota.Queues, Topics: a.Quota.Topics, Messages: a.Quota.Messages, Bytes: a.Quota.Bytes,
		RequestsPerSecond: a.Quota.RequestsPerSecond, CreatedAt: int64(a.CreatedAt),
	}
}

func accountRecord(m *fsmpb.AccountRecord) (access.Account, error) {
	return access.Account{
		ID: m.Id, CreatedAt: queue.Timestamp(m.CreatedAt),
		Quota: account.Quota{Queues: m.Queues, Topics: m.Topics, Messages: m.Messages, Bytes: m.Bytes, RequestsPerSecond: m.RequestsPerSecond},
	}, nil
}

func sealingKeyMessage(s *access.SealingKey) *fsmpb.SealingKeyRecord {
	m := &fsmpb.SealingKeyRecord{Id: s.ID}
	for _, w := range s.Wraps {
		m.Wraps = append(m.Wraps, &fsmpb.SealingKeyWrapRecord{Holder: w.Holder, PublicKey: []byte(w.PublicKey), Text: []byte(w.Text)})
	}
	return m
}

func sealingKeyRecord(m *fsmpb.SealingKeyRecord) (*access.SealingKey, error) {
	s := &access.SealingKey{ID: m.Id}
	for _, w := range m.Wraps {
		s.Wraps = append(s.Wraps, access.Wrap{Holder: w.GetHolder(), PublicKey: string(w.GetPublicKey()), Text: string(w.GetText())})
	}
	return s, nil
}
