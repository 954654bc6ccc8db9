package fsm

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// captured is a state on its way to a sink. Persist runs beside the
// goroutine that goes on applying.
type captured struct {
	position snapshot.Position
	frozen   *queue.Frozen
}

// Persist writes the snapshot. Pace, sync and name of the file are the sink's.
func (c *captured) Persist(sink raft.SnapshotSink) error {
	if err := snapshot.Write(sink, c.position, c.frozen); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("closing the snapshot: %w", err)
	}
	return nil
}

// Release lets go of the captured state.
func (c *captured) Release() { c.frozen = nil }
