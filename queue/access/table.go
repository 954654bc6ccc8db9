package access

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/statehash"
)

// Table is an immutable set of access keys, user policies and accounts, with a copy of the policies
// of queues and topics. Any goroutine may read it.
type Table struct {
	keys     *btree.Map[string, *Key]
	policies *btree.BTreeG[*Policy]
	accounts *btree.Map[string, *Account]
	ofQueues *btree.Map[string, string] // policies by name; not in the sum
	ofTopics *btree.Map[string, string] // policies by name; not in the sum
	sealing  *SealingKey                // nil: none
	sum      statehash.Sum
	bytes    int64
}

// NewTable returns an empty Table.
func NewTable() *Table {
	return &Table{
		keys:     new(btree.Map[string, *Key]),
		policies: btree.NewBTreeGOptions(byUser, btree.Options{NoLocks: true}),
		accounts: newAccounts(),
		ofQueues: new(btree.Map[string, string]),
		ofTopics: new(btree.Map[string, string]),
	}
}

func byUser(a, b *Policy) bool {
	if a.User.Account != b.User.Account {
		return a.User.Account < b.User.Account
	}
	return a.User.Name < b.User.Name
}

// Key finds the key with an id.
func (t *Table) Key(id string) (Key, bool) {
	if k, ok := t.keys.Get(id); ok {
		return *k, true
	}
	return Key{}, false
}

// Policy returns the text of a user's policy, empty if there is none.
func (t *Table) Policy(u User) string {
	if p, ok := t.policies.Get(&Policy{User: u}); ok {
		return p.Text
	}
	return ""
}

// Keys visits all keys in order of id.
func (t *Table) Keys(yield func(Key) bool) {
	t.keys.Scan(func(_ string, k *Key) bool { return yield(*k) })
}

// Policies visits the policies of all users in order of account and name.
func (t *Table) Policies(yield func(Policy) bool) {
	t.policies.Scan(func(p *Policy) bool { return yield(*p) })
}

// KeyCount returns the number of keys.
func (t *Table) KeyCount() int { return t.keys.Len() }

// PolicyCount returns the number of policies.
func (t *Table) PolicyCount() int { return t.policies.Len() }

// WithKey returns the table with a key added or replaced.
func (t *Table) WithKey(h statehash.Key, k Key) *Table {
	next := t.WithoutKey(h, k.ID)
	next.keys.Set(k.ID, &k)
	next.sum.Add(k.sum(h))
	next.bytes += k.bytes()
	return next
}

// WithoutKey returns the table without a key.
func (t *Table) WithoutKey(h statehash.Key, id string) *Table {
	next := *t
	next.keys = t.keys.Copy()
	if old, was := next.keys.Delete(id); was {
		next.sum.Sub(old.sum(h))
		next.bytes -= old.bytes()
	}
	return &next
}

// WithPolicy returns the table with a user's policy added or replaced; an empty text removes it.
func (t *Table) WithPolicy(h statehash.Key, p Policy) *Table {
	next := *t
	next.policies = t.policies.Copy()
	if old, was := next.policies.Delete(&p); was {
		next.sum.Sub(old.sum(h))
		next.bytes -= old.bytes()
	}
	if p.Text != "" {
		next.policies.Set(&p)
		next.sum.Add(p.sum(h))
		next.bytes += p.bytes()
	}
	return &next
}

// Sum returns the sum over all records.
func (t *Table) Sum() statehash.Sum { return t.sum }

// ComputeSum computes Sum from scratch.
func (t *Table) ComputeSum(h statehash.Key) (sum statehash.Sum) {
	t.Keys(func(k Key) bool {
		sum.Add(k.sum(h))
		return true
	})
	t.Policies(func(p Policy) bool {
		sum.Add(p.sum(h))
		return true
	})
	t.Accounts(func(a Account) bool {
		sum.Add(a.sum(h))
		return true
	})
	if t.sealing != nil {
		sum.Add(t.sealing.sum(h))
	}
	return sum
}

// Bytes estimates the memory of the table.
func (t *Table) Bytes() int64 { return t.bytes }
