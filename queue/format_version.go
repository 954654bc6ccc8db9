package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// SetFormatVersion raises the version of commands and snapshots that the cluster may write. It
// never falls.
//
// A rule that changes with a version checks Broker.formatVersion and keeps both branches: replicas
// of different releases must reach the same state from the same log.
type SetFormatVersion struct{ Version uint32 }

// QueueName implements Command.
func (*SetFormatVersion) QueueName() string { return "" }

// Validate refuses version 0, that of a new state.
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
