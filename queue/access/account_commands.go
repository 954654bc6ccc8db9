package access

import (
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// CreateAccount creates an account. The cluster's own account always exists. Repeating the command
// with the same quota changes nothing.
type CreateAccount struct {
	Account string // twelve digits
	Quota   Quota
}

// QueueName implements queue.Command.
func (*CreateAccount) QueueName() string { return "" }

// Validate checks the number and the quota.
func (c *CreateAccount) Validate() *refusal.Error {
	if err := checkUser(c.Account, ""); err != nil {
		return err
	}
	return checkQuota(c.Quota)
}

func checkQuota(q Quota) *refusal.Error {
	if !q.valid() {
		return refusal.New(refusal.IAMInvalidInput, "The limits of a quota must be zero, which means no limit, or above.")
	}
	return nil
}

// Apply implements Command.
func (c *CreateAccount) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	if old, known := t.Account(c.Account); known {
		if old.Quota == c.Quota {
			return t, nil
		}
		return nil, refusal.New(refusal.EntityAlreadyExists, "The account ", c.Account, " already exists with another quota.")
	}
	if t.AccountCount() >= limits.AccountsMax {
		return nil, refusal.New(refusal.LimitExceeded, "A cluster can have ", strconv.Itoa(limits.AccountsMax), " accounts.")
	}
	return t.withQuota(in, Account{ID: c.Account, Quota: c.Quota, CreatedAt: in.Now}), nil
}

// withQuota returns the table with an account added or replaced, and copies its quota to in.Usage.
func (t *Table) withQuota(in Context, a Account) *Table {
	in.Usage.Of(a.ID).Quota = a.Quota
	return t.WithAccount(in.Hash, a)
}

// withoutQuota returns the table without an account, and removes its quota from in.Usage.
func (t *Table) withoutQuota(in Context, id string) *Table {
	in.Usage.Of(id).Quota = Quota{}
	return t.withoutAccount(in.Hash, id)
}

// SetAccountQuota sets the quota of an account. Nothing is deleted if the account exceeds it.
type SetAccountQuota struct {
	Account string // empty: the cluster's own account
	Quota   Quota
}

// QueueName implements queue.Command.
func (*SetAccountQuota) QueueName() string { return "" }

// Validate checks the number and the quota.
func (c *SetAccountQuota) Validate() *refusal.Error {
	if c.Account != "" {
		if err := checkUser(c.Account, ""); err != nil {
			return err
		}
	}
	return checkQuota(c.Quota)
}

// Apply implements Command.
func (c *SetAccountQuota) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	a, known := t.Account(c.Account)
	switch {
	case c.Account != "" && !known:
		return nil, noSuchAccount(c.Account)
	case c.Account == "" && c.Quota.isZero():
		return t.withoutQuota(in, ""), nil
	case !known:
		a.CreatedAt = in.Now
	}
	a.Quota = c.Quota
	return t.withQuota(in, a), nil
}

// Restore implements Record.
func (a Account) Restore(t *Table, in Context) (*Table, error) {
	if _, known := t.Account(a.ID); known || a.ID == "" && a.Quota.isZero() {
		return nil, fmt.Errorf("account %q appears twice or has no quota", a.ID)
	}
	if err := (&SetAccountQuota{Account: a.ID, Quota: a.Quota}).Validate(); err != nil {
		return nil, err
	}
	return t.withQuota(in, a), nil
}

func noSuchAccount(id string) *refusal.Error {
	return refusal.New(refusal.NoSuchEntity, "The account ", id, " does not exist. Create it first.")
}

// RefuseUnknown refuses an account that was not created, unless it is the cluster's own.
func (t *Table) RefuseUnknown(id string, tenant bool) *refusal.Error {
	if _, known := t.Account(id); tenant && !known {
		return noSuchAccount(id)
	}
	return nil
}

// DeleteAccount deletes an account that has no queues, topics, access keys or policies.
type DeleteAccount struct{ Account string }

// QueueName implements queue.Command.
func (*DeleteAccount) QueueName() string { return "" }

// Validate checks the number.
func (c *DeleteAccount) Validate() *refusal.Error { return checkUser(c.Account, "") }

// Apply implements Command.
func (c *DeleteAccount) Apply(t *Table, in Context) (*Table, *refusal.Error) {
	if _, known := t.Account(c.Account); !known {
		return nil, noSuchAccount(c.Account)
	}
	if has := in.Usage.Counted(c.Account); has.Queues+has.Topics > 0 || t.isUsed(c.Account) {
		return nil, refusal.New(refusal.DeleteConflict, "The account ", c.Account, " has ", strconv.FormatInt(has.Queues, 10),
			" queues and ", strconv.FormatInt(has.Topics, 10),
			" topics. Delete them, its access keys and the policies of its users first.")
	}
	return t.withoutQuota(in, c.Account), nil
}
