package fsm

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// snapshot is a captured state on its way to a sink. Persist runs beside the
// goroutine that goes on applying.
type snapshot struct {
	position Position
	frozen   *queue.Frozen
}

// Persist writes the snapshot. Pace, sync and name of the file are the sink's.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := WriteSnapshot(sink, s.position, s.frozen); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("closing the snapshot: %w", err)
	}
	return nil
}

// Release lets go of the captured state.
func (s *snapshot) Release() { s.frozen = nil }

// isDamage tells damage of a snapshot from failures to read it.
func isDamage(err error) bool {
	for _, kind := range []error{format.ErrChecksum, format.ErrUnknownFormat, format.ErrMalformed, format.ErrStateMismatch} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
