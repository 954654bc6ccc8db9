package access

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CreateAccessKey creates an access key for a user. Repeating the command with the same key changes
// nothing.
type CreateAccessKey struct {
	ID      string // 16 to 128 letters, digits, '_' and '-'
	Secret  string // 16 to 128 visible ASCII characters; empty if Sealed is set
	Sealed  string // ciphertext of the secret, see package cluster/sealing
	Account string // twelve digits
	User    string // empty: the account itself
	// Tenant requires that the account was created with CreateAccount.
	Tenant bool
}

// QueueName implements queue.Command.
func (*CreateAccessKey) QueueName() string { return "" }

const (
	accessKeyIDLengthMin = 16 // IAM
	accessKeyIDLengthMax = 128
	secretLengthMin      = 16
	secretLengthMax      = 128
	userNameLengthMax    = 64 // IAM
)

// Validate checks lengths and characters. No refusal repeats the secret.
func (c *CreateAccessKey) Validate() *refusal.Error {
	if err := checkAccessKeyID(c.ID); err != nil {
		return err
	}
	if c.Secret == "" && SealedBy(c.Sealed) != "" {
		return checkUser(c.Account, c.User)
	}
	visible := func(r rune) bool { return r > ' ' && r <= '~' }
	if c.Sealed != "" || len(c.Secret) < secretLengthMin || len(c.Secret) > secretLengthMax ||
		strings.IndexFunc(c.Secret, not(visible)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "A secret access key must have 16 to 128 visible ASCII characters, without blanks.")
	}
	return checkUser(c.Account, c.User)
}

func not(accepted func(rune) bool) func(rune) bool { return func(r rune) bool { return !accepted(r) } }

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func checkAccessKeyID(id string) *refusal.Error {
	accepted := func(r rune) bool { return alphanumeric(r) || r == '_' || r == '-' }
	if len(id) < accessKeyIDLengthMin || len(id) > accessKeyIDLengthMax || strings.IndexFunc(id, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The id of an access key must have 16 to 128 letters, digits, '_' and '-'.")
	}
	return nil
}

func checkUser(owner, name string) *refusal.Error {
	if !IsAccountID(owner) {
		return refusal.New(refusal.IAMInvalidInput, "An account id must have 12 digits.")
	}
	accepted := func(r rune) bool { return alphanumeric(r) || strings.ContainsRune("_+=,.@-", r) }
	if len(name) > userNameLengthMax || strings.IndexFunc(name, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The name of a user can have up to 64 letters, digits and the characters _+=,.@-")
	}
	return nil
}

// Apply implements Command.
func (c *CreateAccessKey) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	if err := t.RefuseUnknown(c.Account, c.Tenant); err != nil {
		return nil, err
	}
	if c.Sealed != "" && (t.sealing == nil || t.sealing.ID != SealedBy(c.Sealed)) {
		return nil, sealedWithAnother()
	}
	key := Key{ID: c.ID, Secret: c.Secret, Sealed: c.Sealed, User: User{Account: c.Account, Name: c.User}, CreatedAt: in.Now}
	if old, known := t.Key(c.ID); known {
		if old.Secret == key.Secret && old.Sealed == key.Sealed && old.User == key.User {
			return t, nil
		}
		return nil, refusal.New(refusal.EntityAlreadyExists, "An access key with the id ", c.ID, " already exists.")
	}
	if t.KeyCount() >= limits.AccessKeysMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.AccessKeysMax), " access keys.")
	}
	return t.WithKey(in.Hash, key), nil
}

// Restore implements Record.
func (k Key) Restore(t *Table, in Context) (*Table, error) {
	if _, known := t.Key(k.ID); known {
		return nil, fmt.Errorf("access key %q appears twice", k.ID)
	}
	create := CreateAccessKey{ID: k.ID, Secret: k.Secret, Sealed: k.Sealed, Account: k.User.Account, User: k.User.Name}
	if err := create.Validate(); err != nil {
		return nil, err
	}
	return t.WithKey(in.Hash, k), nil
}

// UpdateAccessKey activates or deactivates an access key.
type UpdateAccessKey struct {
	ID     string
	Active bool
}

// QueueName implements queue.Command.
func (*UpdateAccessKey) QueueName() string { return "" }

// Validate checks the id.
func (c *UpdateAccessKey) Validate() *refusal.Error { return checkAccessKeyID(c.ID) }

// Apply implements Command.
func (c *UpdateAccessKey) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	key, known := t.Key(c.ID)
	if !known {
		return nil, noSuchAccessKey(c.ID)
	}
	if key.Inactive != c.Active {
		return t, nil
	}
	key.Inactive = !c.Active
	return t.WithKey(in.Hash, key), nil
}

func noSuchAccessKey(id string) *refusal.Error {
	return refusal.New(refusal.NoSuchEntity, "The Access Key with id ", id, " cannot be found.")
}

// DeleteAccessKey deletes an access key.
type DeleteAccessKey struct{ ID string }

// QueueName implements queue.Command.
func (*DeleteAccessKey) QueueName() string { return "" }

// Validate checks the id.
func (c *DeleteAccessKey) Validate() *refusal.Error { return checkAccessKeyID(c.ID) }

// Apply implements Command.
func (c *DeleteAccessKey) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	if _, known := t.Key(c.ID); !known {
		return nil, noSuchAccessKey(c.ID)
	}
	return t.WithoutKey(in.Hash, c.ID), nil
}

// PutUserPolicy sets the policy of a user. Without one, the user can do only what the policies of
// queues and topics permit.
type PutUserPolicy struct {
	Account string
	User    string
	Policy  string // an IAM policy; empty: deleted
	Tenant  bool   // as in CreateAccessKey
}

// QueueName implements queue.Command.
func (*PutUserPolicy) QueueName() string { return "" }

// userPolicyBytesMax is IAM's largest policy limit, that for roles.
const userPolicyBytesMax = 10_240

// Validate checks the user, and that the policy is an object.
func (c *PutUserPolicy) Validate() *refusal.Error {
	if err := checkUser(c.Account, c.User); err != nil {
		return err
	}
	if c.User == "" {
		return refusal.New(refusal.IAMInvalidInput,
			"Only users have policies: the account itself may do everything with its own resources.")
	}
	if len(c.Policy) > userPolicyBytesMax {
		return refusal.New(refusal.LimitExceeded, "The policy of a user can have at most ", strconv.Itoa(userPolicyBytesMax), " bytes.")
	}
	if c.Policy != "" && !policy.IsAccess(c.Policy) {
		return refusal.New(refusal.MalformedPolicyDocument, "Syntax errors in policy.")
	}
	return nil
}

// MalformedPolicy refuses the policy of a user.
func MalformedPolicy(reason string) *refusal.Error {
	return refusal.New(refusal.MalformedPolicyDocument, "Syntax errors in policy. ", reason)
}

// Apply implements Command.
func (c *PutUserPolicy) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	if err := t.RefuseUnknown(c.Account, c.Tenant && c.Policy != ""); err != nil {
		return nil, err
	}
	p := Policy{User: User{Account: c.Account, Name: c.User}, Text: c.Policy}
	if c.Policy != "" && t.Policy(p.User) == "" && t.PolicyCount() >= limits.UserPoliciesMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.UserPoliciesMax), " user policies.")
	}
	return t.WithPolicy(in.Hash, p), nil
}

// Restore implements Record.
func (p Policy) Restore(t *Table, in Context) (*Table, error) {
	if p.Text == "" || t.Policy(p.User) != "" {
		return nil, fmt.Errorf("the policy of user %q is empty or appears twice", p.User.Name)
	}
	if err := (&PutUserPolicy{Account: p.User.Account, User: p.User.Name, Policy: p.Text}).Validate(); err != nil {
		return nil, err
	}
	return t.WithPolicy(in.Hash, p), nil
}

// SetSealingKey creates the cluster's sealing key, or changes the holders of the present one. If
// two nodes create a key at the same time, the second is refused. A key can be replaced while no
// secret is sealed with it. Repeating the command changes nothing.
type SetSealingKey struct {
	ID       string
	Replaces string   // id of the key to replace; empty: none
	Wraps    []Wrap   // the key, encrypted for new holders or new public keys
	Drop     []string // names of holders to remove
}

// QueueName implements queue.Command.
func (*SetSealingKey) QueueName() string { return "" }

const (
	sealingHoldersMax   = 256
	holderLengthMax     = 128
	publicKeyBytesMax   = 256
	wrappedKeyBytesMax  = 512
	holderChangesAtOnce = 64
)

// Validate checks lengths.
func (c *SetSealingKey) Validate() *refusal.Error {
	sound := isSealingID(c.ID) && (c.Replaces == "" || isSealingID(c.Replaces)) &&
		len(c.Wraps)+len(c.Drop) <= holderChangesAtOnce
	for _, w := range c.Wraps {
		sound = sound && w.Holder != "" && len(w.Holder) <= holderLengthMax &&
			w.PublicKey != "" && len(w.PublicKey) <= publicKeyBytesMax && w.Text != "" && len(w.Text) <= wrappedKeyBytesMax
	}
	for _, holder := range c.Drop {
		sound = sound && holder != "" && len(holder) <= holderLengthMax
	}
	if !sound {
		return refusal.New(refusal.IAMInvalidInput, "The sealing key is invalid.")
	}
	return nil
}

// Apply implements Command.
func (c *SetSealingKey) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	now := t.sealing
	switch {
	case now == nil, now.ID == c.Replaces && t.KeyCount() == 0:
		now = &SealingKey{ID: c.ID}
	case now.ID != c.ID:
		return nil, sealedWithAnother()
	}
	next := now.With(c.Wraps, c.Drop)
	switch n := len(next.Wraps); {
	case n == 0:
		return nil, refusal.New(refusal.IAMInvalidInput, "A sealing key needs a holder.")
	case n > sealingHoldersMax:
		return nil, refusal.New(refusal.LimitExceeded, "A sealing key can have ", strconv.Itoa(sealingHoldersMax), " holders.")
	case slices.Equal(next.Wraps, now.Wraps):
		return t, nil
	}
	return t.WithSealingKey(in.Hash, next), nil
}

// Restore implements Record.
func (s *SealingKey) Restore(t *Table, in Context) (*Table, error) {
	if t.sealing != nil {
		return nil, errors.New("there are two sealing keys")
	}
	if !isSealingID(s.ID) || len(s.Wraps) == 0 || len(s.Wraps) > sealingHoldersMax {
		return nil, errors.New("the sealing key has no id or no holders")
	}
	for i, w := range s.Wraps {
		if err := (&SetSealingKey{ID: s.ID, Wraps: []Wrap{w}}).Validate(); err != nil {
			return nil, err
		}
		if i > 0 && s.Wraps[i-1].Holder >= w.Holder {
			return nil, errors.New("the holders of the sealing key are out of order")
		}
	}
	return t.WithSealingKey(in.Hash, s), nil
}

func sealedWithAnother() *refusal.Error {
	return refusal.New(refusal.EntityAlreadyExists, "The cluster has another sealing key. Try again.")
}
