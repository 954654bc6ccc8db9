package snapshot

import (
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
)

// Position is the place of a state in the log, with the hashes that identify the state. It is the
// header of a snapshot.
type Position struct {
	Index     uint64 // of the last entry seen by the state machine
	Term      uint64 // of that entry
	At        queue.Timestamp
	StateHash [16]byte
	ChainHash [16]byte
}

// ReadPosition reads the header of a snapshot only.
func ReadPosition(r io.Reader) (Position, error) {
	sections, err := newSectionReader(r)
	if err != nil {
		return Position{}, err
	}
	return readPosition(sections)
}

func readPosition(sections *sectionReader) (Position, error) {
	var header wire.SnapshotHeader
	if err := readSingle(sections, sectionHeader, wire.SnapshotHeaderCodec, &header); err != nil {
		return Position{}, err
	}
	position := Position{Index: header.Index, Term: header.Term, At: queue.Timestamp(header.At)}
	if len(header.StateHash) != len(position.StateHash) || len(header.ChainHash) != len(position.ChainHash) {
		return Position{}, fmt.Errorf("snapshot header: %w: a state hash of %d bytes, a chain hash of %d",
			format.ErrMalformed, len(header.StateHash), len(header.ChainHash))
	}
	copy(position.StateHash[:], header.StateHash)
	copy(position.ChainHash[:], header.ChainHash)
	return position, nil
}
