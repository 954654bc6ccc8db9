package fsm

import "github.com/seriatimq/seriatim/queue"

// Response is the answer to one command: a result or a refusal.
type Response struct {
	Result queue.Result // nil if Err is set
	Err    *queue.Error
}

// EntryResult is what applying one log entry gave: what the consensus library
// hands back to the proposer.
type EntryResult struct {
	Index     uint64
	At        queue.Timestamp // log time after the entry
	Responses []Response      // one per command, in order; none if the entry is void
	Void      bool            // proposed in another term than it was written in: nothing of it was done
}
