package fsm

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Captured is a frozen state for a snapshot or a backup, written while further commands are
// applied. It keeps the state's memory and bodies until Release.
type Captured struct {
	Position snapshot.Position
	frozen   *queue.Frozen
	bodies   CapturedBodies
}

// Persist writes a snapshot for this node: it refers to bodies in files instead of copying them,
// after syncing them.
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

// Write writes the state with its bodies.
func (c *Captured) Write(w io.Writer) error { return snapshot.Write(w, c.Position, c.frozen) }

// Release releases the captured state. It may be called more than once.
func (c *Captured) Release() {
	c.frozen = nil
	c.bodies.Release()
}
