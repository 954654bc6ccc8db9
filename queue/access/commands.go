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
	// Apply returns the changed table, or t if nothing changes.
	Apply(t *Table, in Context) (*Table, *refusal.Error)
}

// Record is a record of a Table in a snapshot: a Key, Policy, Account or SealingKey.
type Record interface {
	// Restore returns the table with the record. It refuses records that no valid state contains.
	Restore(t *Table, in Context) (*Table, error)
}

// Context is the state that a change of a Table depends on.
type Context struct {
	Hash  statehash.Key
	Now   logtime.Timestamp
	Usage Usages // has a copy of the quotas
}
