package access

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// User is the owner of a key. A user exists as long as it has a key or a policy.
type User struct {
	Account string // twelve digits
	Name    string // empty: the account itself, which may do everything with its own resources
}

// Key is an access key.
type Key struct {
	ID        string
	Secret    string // in clear; empty: it is sealed
	Sealed    string // the secret, encrypted with the sealing key, in bytes
	User      User
	Inactive  bool
	CreatedAt logtime.Timestamp
}

// Policy is the IAM policy of a user.
type Policy struct {
	User User
	Text string
}

func (k *Key) sum(h statehash.Key) statehash.Sum {
	var buf [512]byte
	r := append(statehash.Record(buf[:0]), statehash.KindAccessKey).Text(k.ID).Text(k.Secret)
	r = r.Text(k.User.Account).Text(k.User.Name).Flag(k.Inactive).Time(k.CreatedAt)
	if k.Sealed != "" {
		r = r.Text(k.Sealed)
	}
	return h.Sum(r)
}

func (p *Policy) sum(h statehash.Key) statehash.Sum {
	var buf [256]byte
	r := append(statehash.Record(buf[:0]), statehash.KindUserPolicy).Text(p.User.Account).Text(p.User.Name)
	return h.Sum(r.Num(h.HashText(p.Text)))
}

// recordBytes estimates the memory of a record without its texts.
const recordBytes = 160

func (k *Key) bytes() int64 {
	return recordBytes + int64(len(k.ID)+len(k.Secret)+len(k.Sealed)+len(k.User.Account)+len(k.User.Name))
}

func (p *Policy) bytes() int64 {
	return recordBytes + int64(len(p.Text)+len(p.User.Account)+len(p.User.Name))
}
