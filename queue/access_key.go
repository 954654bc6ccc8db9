package queue

import (
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CreateAccessKey gives a user a key. Id and secret are drawn by the node that accepts
// the command, or are those of a key that was made elsewhere. Repeated, it does nothing.
type CreateAccessKey struct {
	ID      string // 16 to 128 letters, digits, '_' and '-'
	Secret  string // 16 to 128 visible characters of ASCII
	Account string // twelve digits
	User    string // empty: the account itself
}

// QueueName implements Command.
func (*CreateAccessKey) QueueName() string { return "" }

const (
	accessKeyIDLengthMin = 16 // IAM
	accessKeyIDLengthMax = 128
	secretLengthMin      = 16
	secretLengthMax      = 128
	userNameLengthMax    = 64 // IAM
)

// Validate checks lengths and characters. No refusal repeats the secret.
func (c *CreateAccessKey) Validate() *Error {
	if err := checkAccessKeyID(c.ID); err != nil {
		return err
	}
	visible := func(r rune) bool { return r > ' ' && r <= '~' }
	if len(c.Secret) < secretLengthMin || len(c.Secret) > secretLengthMax || strings.IndexFunc(c.Secret, not(visible)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "A secret access key has 16 to 128 visible characters of ASCII and no blanks.")
	}
	return checkUser(c.Account, c.User)
}

func not(accepted func(rune) bool) func(rune) bool { return func(r rune) bool { return !accepted(r) } }

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func checkAccessKeyID(id string) *Error {
	accepted := func(r rune) bool { return alphanumeric(r) || r == '_' || r == '-' }
	if len(id) < accessKeyIDLengthMin || len(id) > accessKeyIDLengthMax || strings.IndexFunc(id, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The id of an access key has 16 to 128 letters, digits, '_' and '-'.")
	}
	return nil
}

func checkUser(account, name string) *Error {
	if len(account) != accountDigits || strings.Trim(account, "0123456789") != "" {
		return refusal.New(refusal.IAMInvalidInput, "An account id has 12 digits.")
	}
	accepted := func(r rune) bool { return alphanumeric(r) || strings.ContainsRune("_+=,.@-", r) }
	if len(name) > userNameLengthMax || strings.IndexFunc(name, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The name of a user has up to 64 letters, digits and the characters _+=,.@-")
	}
	return nil
}

// accountDigits is the length of an account id.
const accountDigits = 12

func (c *CreateAccessKey) apply(b *Broker) (Result, *Error) {
	key := access.Key{ID: c.ID, Secret: c.Secret, User: access.User{Account: c.Account, Name: c.User}, CreatedAt: b.now}
	if old, known := b.access.Key(c.ID); known {
		if old.Secret == key.Secret && old.User == key.User {
			return Done{}, nil
		}
		return nil, refusal.New(refusal.EntityAlreadyExists, "There is an access key with the id ", c.ID, " already.")
	}
	if b.access.KeyCount() >= limits.AccessKeysMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.AccessKeysMax), " access keys.")
	}
	b.access = b.access.WithKey(b.key, key)
	return Done{}, nil
}

// UpdateAccessKey has a key be accepted, or not for the time being.
type UpdateAccessKey struct {
	ID     string
	Active bool
}

// QueueName implements Command.
func (*UpdateAccessKey) QueueName() string { return "" }

// Validate checks the id.
func (c *UpdateAccessKey) Validate() *Error { return checkAccessKeyID(c.ID) }

func (c *UpdateAccessKey) apply(b *Broker) (Result, *Error) {
	key, known := b.access.Key(c.ID)
	if !known {
		return nil, noSuchAccessKey(c.ID)
	}
	if key.Inactive == c.Active {
		key.Inactive = !c.Active
		b.access = b.access.WithKey(b.key, key)
	}
	return Done{}, nil
}

// noSuchAccessKey refuses in the words of IAM.
func noSuchAccessKey(id string) *Error {
	return refusal.New(refusal.NoSuchEntity, "The Access Key with id ", id, " cannot be found.")
}

// DeleteAccessKey takes a key away for good.
type DeleteAccessKey struct{ ID string }

// QueueName implements Command.
func (*DeleteAccessKey) QueueName() string { return "" }

// Validate checks the id.
func (c *DeleteAccessKey) Validate() *Error { return checkAccessKeyID(c.ID) }

func (c *DeleteAccessKey) apply(b *Broker) (Result, *Error) {
	if _, known := b.access.Key(c.ID); !known {
		return nil, noSuchAccessKey(c.ID)
	}
	b.access = b.access.WithoutKey(b.key, c.ID)
	return Done{}, nil
}
