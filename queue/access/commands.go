package access

import (
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Command is a command that changes a Table. It is a queue.Command.
type Command interface {
	Validate() *refusal.Error
	QueueName() string
	// Apply returns the changed table, or t if nothing changes. If the quota of an account changes,
	// it also changes in.Usage.
	Apply(t *Table, in Context) (*Table, *refusal.Error)
}

// Record is a record of a Table in a snapshot: a Key, Policy, Account or *SealingKey.
type Record interface {
	// Restore returns the table with the record, and sets its quota in in.Usage. It refuses records
	// that no valid state contains.
	Restore(t *Table, in Context) (*Table, error)
}

// Context is the state outside a Table that its changes use.
type Context struct {
	Hash  statehash.Key
	Now   logtime.Timestamp
	Usage Usages // its quotas are copies of those in the Table
}
