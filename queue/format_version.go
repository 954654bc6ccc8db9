package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// SetFormatVersion raises the version of commands and snapshots that the
// cluster may write. It never goes down.
//
// A rule that a later version changes goes on as it was until then: replicas of two
// programs apply the same log, and replay it to the same state. Such a rule asks for
// Broker.formatVersion and keeps both branches.
type SetFormatVersion struct{ Version uint32 }

// QueueName implements Command.
func (*SetFormatVersion) QueueName() string { return "" }

// Validate refuses version zero, the one of a new state.
func (c *SetFormatVersion) Validate() *Error {
	if c.Version == 0 {
		return refusal.New(refusal.InvalidFormatVersion, "the format version must be above 0")
	}
	return nil
}

func (c *SetFormatVersion) apply(b *Broker) (Result, *Error) {
	if c.Version < b.formatVersion {
		return nil, refusal.New(refusal.InvalidFormatVersion, "The format version never goes down: it is ",
			strconv.FormatUint(uint64(b.formatVersion), 10), ".")
	}
	b.formatVersion = c.Version
	return Done{}, nil
}
