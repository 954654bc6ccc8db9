package snapshot

import "github.com/seriatimq/seriatim/queue"

// Position is the place of a state in the log, with the hashes that identify the state. It is the
// header of a snapshot.
type Position struct {
	Index     uint64 // of the last entry seen by the state machine
	Term      uint64 // of that entry
	At        queue.Timestamp
	StateHash [16]byte
	ChainHash [16]byte
}
