package fsm

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// EntryResult is the result of applying one log entry, returned to its proposer.
type EntryResult struct {
	Index     uint64
	At        queue.Timestamp  // log time after the entry
	Responses []codec.Response // one per command, in order; none if Void
	Void      bool             // not applied, because the log has the entry under another term than its proposer's
}
