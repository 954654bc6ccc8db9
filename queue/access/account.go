package access

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Account is an account made by CreateAccount, or the cluster's own account if it has a quota.
type Account struct {
	ID        string // twelve digits; empty: the cluster's own account
	Quota     Quota
	CreatedAt logtime.Timestamp
}

func (a *Account) sum(h statehash.Key) statehash.Sum {
	var buf [128]byte
	r := append(statehash.Record(buf[:0]), statehash.KindAccount).Text(a.ID)
	for _, n := range [...]int64{a.Quota.Queues, a.Quota.Topics, a.Quota.Messages, a.Quota.Bytes, a.Quota.RequestsPerSecond} {
		r = r.Num(uint64(n))
	}
	return h.Sum(r.Time(a.CreatedAt))
}

// Account finds an account by its id.
func (t *Table) Account(id string) (Account, bool) {
	if a, ok := t.accounts.Get(id); ok {
		return *a, true
	}
	return Account{}, false
}

// Accounts calls yield for each account, in the order of their ids.
func (t *Table) Accounts(yield func(Account) bool) {
	t.accounts.Scan(func(_ string, a *Account) bool { return yield(*a) })
}

// AccountCount returns the number of accounts.
func (t *Table) AccountCount() int { return t.accounts.Len() }

// isUsed reports whether an account has keys or users with policies.
func (t *Table) isUsed(id string) (used bool) {
	t.Keys(func(k Key) bool {
		used = used || k.User.Account == id
		return !used
	})
	t.policies.Ascend(&Policy{User: User{Account: id}}, func(p *Policy) bool {
		used = used || p.User.Account == id
		return false
	})
	return used
}

// WithAccount returns the table with an account added or replaced.
func (t *Table) WithAccount(h statehash.Key, a Account) *Table {
	next := t.withoutAccount(h, a.ID)
	next.accounts.Set(a.ID, &a)
	next.sum.Add(a.sum(h))
	next.bytes += recordBytes
	return next
}

// withoutAccount returns the table without an account.
func (t *Table) withoutAccount(h statehash.Key, id string) *Table {
	next := *t
	next.accounts = t.accounts.Copy()
	if old, was := next.accounts.Delete(id); was {
		next.sum.Sub(old.sum(h))
		next.bytes -= recordBytes
	}
	return &next
}

func newAccounts() *btree.Map[string, *Account] { return new(btree.Map[string, *Account]) }
