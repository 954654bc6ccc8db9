package fsm

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Captured is a state at some moment, on its way to a sink or into a backup, both beside
// the goroutine that goes on applying. It keeps what the state had in memory and in
// files until it is released.
type Captured struct {
	Position snapshot.Position
	frozen   *queue.Frozen
	bodies   CapturedBodies
}

// Persist writes a snapshot that only this node can use: it names bodies in files instead
// of copying them, once they are on disk. Pace, sync and name of the file are the sink's.
func (c *Captured) Persist(sink raft.SnapshotSink) error {
	err := c.bodies.Sync()
	if err == nil {
		err = snapshot.WriteReferences(sink, c.Position, c.frozen)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("closing the snapshot: %w", err)
	}
	c.bodies.Stored()
	return nil
}

// Write writes the state with all that belongs to it.
func (c *Captured) Write(w io.Writer) error { return snapshot.Write(w, c.Position, c.frozen) }

// Release lets go of the captured state. More than once is allowed.
func (c *Captured) Release() {
	c.frozen = nil
	c.bodies.Release()
}
