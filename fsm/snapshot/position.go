package snapshot

import "github.com/seriatimq/seriatim/queue"

// Position says where in the log a state stands and what identifies it. It is the
// header of its snapshot.
type Position struct {
	Index     uint64 // of the last entry seen by the state machine
	Term      uint64 // of that entry
	At        queue.Timestamp
	StateHash [16]byte
	ChainHash [16]byte
}
