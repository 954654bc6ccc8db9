package queue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
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
	if c.Secret == "" && access.SealedBy(c.Sealed) != "" {
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

func checkAccessKeyID(id string) *Error {
	accepted := func(r rune) bool { return alphanumeric(r) || r == '_' || r == '-' }
	if len(id) < accessKeyIDLengthMin || len(id) > accessKeyIDLengthMax || strings.IndexFunc(id, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The id of an access key must have 16 to 128 letters, digits, '_' and '-'.")
	}
	return nil
}

func checkUser(owner, name string) *Error {
	if !account.IsID(owner) {
		return refusal.New(refusal.IAMInvalidInput, "An account id must have 12 digits.")
	}
	accepted := func(r rune) bool { return alphanumeric(r) || strings.ContainsRune("_+=,.@-", r) }
	if len(name) > userNameLengthMax || strings.IndexFunc(name, not(accepted)) >= 0 {
		return refusal.New(refusal.IAMInvalidInput, "The name of a user can have up to 64 letters, digits and the characters _+=,.@-")
	}
	return nil
}

func (c *CreateAccessKey) apply(b *Broker) (Result, *Error) {
	if err := b.checkAccount(c.Account, c.Tenant); err != nil {
		return nil, err
	}
	if c.Sealed != "" && !b.isSealed(c.Sealed) {
		return nil, sealedWithAnother()
	}
	key := access.Key{ID: c.ID, Secret: c.Secret, Sealed: c.Sealed, User: access.User{Account: c.Account, Name: c.User}, CreatedAt: b.now}
	if old, known := b.access.Key(c.ID); known {
		if old.Secret == key.Secret && old.Sealed == key.Sealed && old.User == key.User {
			return Done{}, nil
		}
		return nil, refusal.New(refusal.EntityAlreadyExists, "An access key with the id ", c.ID, " already exists.")
	}
	if b.access.KeyCount() >= limits.AccessKeysMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.AccessKeysMax), " access keys.")
	}
	b.access = b.access.WithKey(b.key, key)
	return Done{}, nil
}

// UpdateAccessKey activates or deactivates an access key.
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

func noSuchAccessKey(id string) *Error {
	return refusal.New(refusal.NoSuchEntity, "The Access Key with id ", id, " cannot be found.")
}

// DeleteAccessKey deletes an access key.
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

// PutUserPolicy sets the policy of a user. Without one, the user can do only what the policies of
// queues and topics permit.
type PutUserPolicy struct {
	Account string
	User    string
	Policy  string // an IAM policy; empty: deleted
	Tenant  bool   // as in CreateAccessKey
}

// QueueName implements Command.
func (*PutUserPolicy) QueueName() string { return "" }

// userPolicyBytesMax is IAM's largest policy limit, that for roles.
const userPolicyBytesMax = 10_240

// Validate checks the user, and that the policy is an object.
func (c *PutUserPolicy) Validate() *Error {
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
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.UserPoliciesMax), " user policies.")
	}
	b.access = b.access.WithPolicy(b.key, p)
	return Done{}, nil
}

// Access returns the access keys, user policies and accounts.
func (v View) Access() *access.Table { return v.b.access }

// AddAccessKey adds an access key. Its id must be new.
func (r *Restorer) AddAccessKey(k access.Key) error {
	if _, known := r.b.access.Key(k.ID); known {
		return fmt.Errorf("access key %q appears twice", k.ID)
	}
	if err := (&CreateAccessKey{ID: k.ID, Secret: k.Secret, Sealed: k.Sealed, Account: k.User.Account,
		User: k.User.Name}).Validate(); err != nil {
		return err
	}
	r.b.access = r.b.access.WithKey(r.b.key, k)
	return nil
}

// AddUserPolicy adds the policy of a user. The user must have none.
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

// SetSealingKey creates the cluster's sealing key, or changes the holders of the present one. If
// two nodes create a key at the same time, the second is refused. A key can be replaced while no
// secret is sealed with it. Repeating the command changes nothing.
type SetSealingKey struct {
	ID       string
	Replaces string        // id of the key to replace; empty: none
	Wraps    []access.Wrap // the key, encrypted for new holders or new public keys
	Drop     []string      // names of holders to remove
}

// QueueName implements Command.
func (*SetSealingKey) QueueName() string { return "" }

const (
	sealingHoldersMax   = 256
	holderLengthMax     = 128
	publicKeyBytesMax   = 256
	wrappedKeyBytesMax  = 512
	holderChangesAtOnce = 64
)

// Validate checks lengths.
func (c *SetSealingKey) Validate() *Error {
	sound := access.IsSealingID(c.ID) && (c.Replaces == "" || access.IsSealingID(c.Replaces)) &&
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

func (c *SetSealingKey) apply(b *Broker) (Result, *Error) {
	now := b.access.SealingKey()
	switch {
	case now == nil, now.ID == c.Replaces && b.access.KeyCount() == 0:
		now = &access.SealingKey{ID: c.ID}
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
		return Done{}, nil
	}
	b.access = b.access.WithSealingKey(b.key, next)
	return Done{}, nil
}

// isSealed reports whether a secret is sealed with the sealing key of the cluster.
func (b *Broker) isSealed(secret string) bool {
	key := b.access.SealingKey()
	return key != nil && key.ID == access.SealedBy(secret)
}

func sealedWithAnother() *Error {
	return refusal.New(refusal.EntityAlreadyExists, "The cluster has another sealing key. Try again.")
}

// AddSealingKey adds the sealing key. Call it at most once.
func (r *Restorer) AddSealingKey(s *access.SealingKey) error {
	if r.b.access.SealingKey() != nil {
		return errors.New("there are two sealing keys")
	}
	if !access.IsSealingID(s.ID) || len(s.Wraps) == 0 || len(s.Wraps) > sealingHoldersMax {
		return errors.New("the sealing key has no id or no holders")
	}
	for i, w := range s.Wraps {
		if err := (&SetSealingKey{ID: s.ID, Wraps: []access.Wrap{w}}).Validate(); err != nil {
			return err
		}
		if i > 0 && s.Wraps[i-1].Holder >= w.Holder {
			return errors.New("the holders of the sealing key are out of order")
		}
	}
	r.b.access = r.b.access.WithSealingKey(r.b.key, s)
	return nil
}

// UseSealingKey replaces the sealing key, or removes it if s is nil. It is not a command: like
// BeginEpoch, it adapts a state to another cluster.
func (b *Broker) UseSealingKey(s *access.SealingKey) { b.access = b.access.WithSealingKey(b.key, s) }

// UseAccessKeys replaces all access keys with those of another state. It is not a command, see
// UseSealingKey.
func (b *Broker) UseAccessKeys(of *access.Table) { b.access = b.access.WithKeysOf(b.key, of) }
