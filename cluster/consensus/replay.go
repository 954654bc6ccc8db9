package consensus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// Replay applies the log up to the last entry known to be committed (LogStore.KnownCommitted)
// before consensus starts, and presents that state to the library as a snapshot. The library itself
// would replay in its main loop, once a leader has sent it the commit index: a leader with much to
// replay answers no message meanwhile and is outvoted, and a follower seems dead. It would also
// read the log a second time, for changes of the members. exploit_replay_test.go tests the reliance
// on the library.

// replayBatchBytes are read before they are applied: enough to hide the cost of passing them on,
// with little memory in replayBatches.
const (
	replayBatchBytes       = 1 << 20
	replayBatches          = 4
	replayProgressInterval = 5 * time.Second
)

// openState restores the newest snapshot, reads the whole log, and applies the entries known to be
// committed. It stops when ctx ends.
func (g *Group) openState(ctx context.Context, state stateMachine) error {
	g.machine = newMachine(g.ctx, state, g.options, g.stores.log, g.stores.snapshots)
	metas, err := g.stores.snapshots.List()
	if err != nil {
		return err
	}
	var newest raft.SnapshotMeta
	if len(metas) > 0 {
		newest = *metas[0]
		g.stores.log.SnapshotDueAfter(max(g.options.Snapshot.LogBytes, g.stores.snapshots.Newest().Bytes))
		content, err := g.stores.snapshots.OpenToRestore(metas[0])
		if err != nil {
			return err
		}
		if err := g.machine.Restore(content); err != nil { // it closes content
			return err
		}
	}
	r := newReplay(ctx, g, newest)
	if newest.Index == storage.BoundaryMin {
		r.until = storage.BoundaryMin // the library must have this snapshot, see BoundaryMin
	}
	if err := errors.Join(r.read(g.options.Dir.HasLog()), r.finish()); err != nil {
		return err
	}
	if len(metas) == 0 && g.options.Bodies != nil {
		g.options.Bodies.RestoredNothing() // the log is complete: no snapshot is missing
	}
	if err := g.finishInstall(newest); err != nil {
		return err
	}
	g.stores.log.NoteCommitted(g.machine.applied.Load)
	g.stores.librarySnaps = librarySnapshots{SnapshotStore: g.stores.snapshots}
	if r.reached.Index > 0 {
		g.stores.librarySnaps.atStart.Store(&r.reached)
	}
	return nil
}

// replay is one pass over the log. One goroutine reads and checks, another applies.
type replay struct {
	ctx          context.Context // ends it early
	group        *Group
	until        uint64            // the last entry to apply
	reached      raft.SnapshotMeta // describes the state after it, once all is read
	batch        []*raft.Log
	bytes        int64
	batches      chan []*raft.Log
	applied      chan struct{} // closed when all batches are applied
	nextProgress time.Duration // time of the next progress message
}

func newReplay(ctx context.Context, g *Group, from raft.SnapshotMeta) *replay {
	r := &replay{
		ctx:          ctx,
		group:        g,
		until:        g.stores.log.KnownCommitted(),
		reached:      from,
		batches:      make(chan []*raft.Log, replayBatches),
		applied:      make(chan struct{}),
		nextProgress: g.options.Clock.Monotonic() + replayProgressInterval,
	}
	go r.apply()
	return r
}

// read reads the whole log. A file that was cut short under a memory map causes a fault, which is
// turned into a panic, so that it is reported as damage.
func (r *replay) read(marked bool) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	_, err := r.group.stores.log.Verify(r.reached.Index, marked, r.visit)
	return err
}

// visit adds the next entry of the log.
func (r *replay) visit(entry *raft.Log) error {
	if entry.Index <= r.reached.Index || entry.Index > r.until {
		return r.ctx.Err()
	}
	r.reached.Index, r.reached.Term = entry.Index, entry.Term
	switch entry.Type {
	case raft.LogConfiguration:
		r.reached.ConfigurationIndex, r.reached.Configuration = entry.Index, raft.DecodeConfiguration(entry.Data)
	case raft.LogCommand:
	default:
		return r.ctx.Err()
	}
	r.batch = append(r.batch, entry)
	if r.bytes += int64(storage.EntryBytes(entry)); r.bytes >= replayBatchBytes {
		r.flush()
	}
	return r.ctx.Err()
}

// flush passes the entries read to the applying goroutine.
func (r *replay) flush() {
	if len(r.batch) > 0 {
		r.batches <- r.batch
	}
	r.batch, r.bytes = nil, 0
	if now := r.group.options.Clock.Monotonic(); now >= r.nextProgress {
		r.nextProgress = now + replayProgressInterval
		r.group.options.Logger.Info("reading the log", "entry", r.reached.Index, "of", r.until)
	}
}

func (r *replay) apply() {
	defer close(r.applied)
	for batch := range r.batches {
		r.group.machine.ApplyBatch(batch)
	}
}

// finish waits until all entries are applied.
func (r *replay) finish() error {
	r.flush()
	close(r.batches)
	<-r.applied
	if r.reached.Index > 0 {
		r.reached.Version, r.reached.ID = 1, fmt.Sprintf("start-%d", r.reached.Index)
		r.group.machine.advance(r.reached.Index)
	}
	return r.group.options.Guard.Poisoned()
}

// librarySnapshots are the snapshots that the library sees: at the start, only the state of the
// machine.
type librarySnapshots struct {
	*storage.SnapshotStore
	atStart atomic.Pointer[raft.SnapshotMeta]
}

// List returns the descriptions of the snapshots, newest first.
func (s *librarySnapshots) List() ([]*raft.SnapshotMeta, error) {
	if meta := s.atStart.Swap(nil); meta != nil {
		return []*raft.SnapshotMeta{meta}, nil
	}
	return s.SnapshotStore.List()
}
