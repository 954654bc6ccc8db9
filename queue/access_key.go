package queue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CreateAccessKey gives a user a key. Id and secret are drawn by the node that accepts
// the command, or are those of a key that was made elsewhere. Repeated, it does nothing.
type CreateAccessKey struct {
	ID      string // 16 to 128 letters, digits, '_' and '-'
	Secret  string // 16 to 128 visible characters of ASCII
	Account string // twelve digits
	User    string // empty: the account itself
	// Tenant says that the account is not the cluster's own, so that it must have been
	// created.
	Tenant bool
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

func checkUser(owner, name string) *Error {
	if !account.IsID(owner) {
		return refusal.New(refusal.IAMInvalidInput, "An account id has 12 digits.")
	}
	accepted := func(r rune) bool { return alphanumeric(r) || strings.ContainsRune("_+=,.@-", r) }
	if len(name) > userNameLengthMax || strings.IndexFunc(name, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The name of a user has up to 64 letters, digits and the characters _+=,.@-")
	}
	return nil
}

func (c *CreateAccessKey) apply(b *Broker) (Result, *Error) {
	if err := b.checkAccount(c.Account, c.Tenant); err != nil {
		return nil, err
	}
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

// PutUserPolicy says what a user may do. Without a text the user may do nothing but what
// the policies of queues and topics permit.
type PutUserPolicy struct {
	Account string
	User    string
	Policy  string // in the language of IAM, read by the node that accepts the command; empty: none
	Tenant  bool   // that of CreateAccessKey
}

// QueueName implements Command.
func (*PutUserPolicy) QueueName() string { return "" }

// userPolicyBytesMax is that of IAM for the policies of a role, the largest it has.
const userPolicyBytesMax = 10_240

// Validate checks the user, and that the policy is an object.
func (c *PutUserPolicy) Validate() *Error {
	if err := checkUser(c.Account, c.User); err != nil {
		return err
	}
	if c.User == "" {
		return refusal.New(refusal.IAMInvalidInput, "The account itself may do everything with what is its own: only users have a policy.")
	}
	if len(c.Policy) > userPolicyBytesMax {
		return refusal.New(refusal.LimitExceeded, "The policy of a user has ", strconv.Itoa(userPolicyBytesMax), " bytes at the most.")
	}
	if c.Policy != "" && !policy.IsAccess(c.Policy) {
		return refusal.New(refusal.MalformedPolicyDocument, "Syntax errors in policy.")
	}
	return nil
}

func (c *PutUserPolicy) accessPolicy() (AccessPolicy, bool) {
	return AccessPolicy{Text: c.Policy, Refuse: func(reason string) *Error {
		return refusal.New(refusal.MalformedPolicyDocument, "Syntax errors in policy. ", reason)
	}}, c.Policy != ""
}

func (c *PutUserPolicy) apply(b *Broker) (Result, *Error) {
	if err := b.checkAccount(c.Account, c.Tenant && c.Policy != ""); err != nil {
		return nil, err
	}
	p := access.Policy{User: access.User{Account: c.Account, Name: c.User}, Text: c.Policy}
	if c.Policy != "" && b.access.Policy(p.User) == "" && b.access.PolicyCount() >= limits.UserPoliciesMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.UserPoliciesMax), " policies of users.")
	}
	b.access = b.access.WithPolicy(b.key, p)
	return Done{}, nil
}

// Access is who may use the cluster.
func (v View) Access() *access.Table { return v.b.access }

// AddAccessKey adds an access key.
func (r *Restorer) AddAccessKey(k access.Key) error {
	if _, known := r.b.access.Key(k.ID); known {
		return fmt.Errorf("access key %q appears twice", k.ID)
	}
	if err := (&CreateAccessKey{ID: k.ID, Secret: k.Secret, Account: k.User.Account, User: k.User.Name}).Validate(); err != nil {
		return err
	}
	r.b.access = r.b.access.WithKey(r.b.key, k)
	return nil
}

// AddUserPolicy adds the policy of a user.
func (r *Restorer) AddUserPolicy(p access.Policy) error {
	if p.Text == "" || r.b.access.Policy(p.User) != "" {
		return fmt.Errorf("the policy of user %q is empty or appears twice", p.User.Name)
	}
	if err := (&PutUserPolicy{Account: p.User.Account, User: p.User.Name, Policy: p.Text}).Validate(); err != nil {
		return err
	}
	r.b.access = r.b.access.WithPolicy(r.b.key, p)
	return nil
}
