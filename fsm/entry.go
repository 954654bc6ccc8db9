package fsm

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// EntryResult is what applying one log entry gave: what the consensus library
// hands back to the proposer.
type EntryResult struct {
	Index     uint64
	At        queue.Timestamp  // log time after the entry
	Responses []codec.Response // one per command, in order; none if the entry is void
	Void      bool             // proposed in another term than it was written in: nothing of it was done
}
