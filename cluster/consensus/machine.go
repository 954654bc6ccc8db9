package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/format"
)

// machine stands between the library and the state machine. It tracks the last applied entry (the
// library's index counts entries passed on), paces snapshots, and ends the node if a snapshot
// cannot be restored, where the library would restore an older one.
type machine struct {
	machine stateMachine
	policy  SnapshotPolicy
	guard   *storage.DiskGuard
	log     *storage.LogStore
	store   *storage.SnapshotStore
	bodies  *bodies.Store   // nil: bodies are in memory
	live    atomic.Bool     // the library runs: a snapshot comes from the leader
	ctx     context.Context // ends when the group closes
	clock   environment.Clock
	// committed is called after entries are applied. It never blocks.
	committed func()

	applied  atomic.Uint64
	restored atomic.Uint64 // number of snapshots
	// inlined is the index of the newest snapshot if it has inlined bodies that are in segments as
	// well; else 0.
	inlined atomic.Uint64
	paused  atomic.Int64 // longest capture of the state, nanoseconds
	longest atomic.Int64 // longest time for one batch of entries, nanoseconds
	members committedMembers
	deleted int64 // bytes of deleted bodies reported to the log; for the applying goroutine

	moved wakeup.Broadcast // applied grew
}

var _ raft.BatchingFSM = (*machine)(nil)

func newMachine(ctx context.Context, state stateMachine, options Options, log *storage.LogStore,
	snapshots *storage.SnapshotStore) *machine {
	return &machine{
		machine: state, policy: options.Snapshot, guard: options.Guard, clock: options.Clock,
		log: log, store: snapshots, bodies: options.Bodies, ctx: ctx, committed: func() {},
	}
}

// Apply is not called, because the library uses ApplyBatch.
func (m *machine) Apply(entry *raft.Log) any { return m.ApplyBatch([]*raft.Log{entry})[0] }

// ApplyBatch applies committed entries.
func (m *machine) ApplyBatch(entries []*raft.Log) []any {
	began := m.clock.Monotonic()
	results := m.machine.ApplyBatch(entries)
	m.members.note(entries)
	// The library applies one batch at a time.
	m.longest.Store(max(m.longest.Load(), int64(m.clock.Monotonic()-began)))
	m.advance(entries[len(entries)-1].Index)
	m.committed()
	m.noteDeleted()
	return results
}

// noteDeleted reports deleted bodies to the log, so that a snapshot reclaims their space.
func (m *machine) noteDeleted() {
	if m.bodies == nil {
		return
	}
	total := m.bodies.DeletedBytes()
	if more := total - m.deleted; more > 0 {
		m.deleted = total
		m.log.NoteDeleted(more)
	}
}

// forgetDeleted runs after a restore, which reclaims the space of unused bodies without another
// snapshot.
func (m *machine) forgetDeleted() {
	if m.bodies != nil {
		m.deleted = m.bodies.DeletedBytes()
		m.log.ForgetDeleted()
	}
}

// Snapshot captures the state.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	began := m.clock.Monotonic()
	snapshot, err := m.machine.Snapshot()
	if err != nil {
		return nil, err
	}
	// The library captures one state at a time.
	m.paused.Store(max(m.paused.Load(), int64(m.clock.Monotonic()-began)))
	pacer := NewPacer(m.policy, m.clock.Monotonic)
	pacer.maySlowDown = m.maySlowDown()
	return &pacedSnapshot{FSMSnapshot: snapshot, pacer: pacer, ctx: m.ctx}, nil
}

// maySlowDown returns a function that reports whether the writer of a snapshot may slow down. The
// snapshot should be done when half of the log for the next one is written: a slower one delays
// sends less, and a restart hardly replays more. The size of the last snapshot predicts that of
// this one.
func (m *machine) maySlowDown() func(written int64) bool {
	began, size := m.log.Appended(), m.store.Newest().Bytes
	room := max(m.policy.LogBytes, size) / 2
	return func(written int64) bool {
		grown := m.log.Appended() - began
		return size > 0 && m.inlined.Load() == 0 && float64(grown)/float64(room) < float64(written)/float64(size)
	}
}

// Restore replaces the state by that of a snapshot. Its index may be that of an entry that never
// reaches the state machine.
func (m *machine) Restore(content io.ReadCloser) error {
	source, known := storage.SnapshotSource(content)
	if !known {
		source.Path = "of unknown name"
	} else if err := m.store.DropOlder(source.ID()); err != nil {
		return err
	}
	if err := m.machine.Restore(content); errors.Is(err, format.ErrUnknownFormat) {
		return m.guard.Fail(fault.ExitUnknownFormat, fmt.Errorf(
			"the snapshot %s cannot be read: %w; a newer version of this program wrote it, start that one", source.Path, err))
	} else if errors.Is(err, format.ErrStateMismatch) {
		return m.guard.Fail(fault.ExitStateMismatch,
			fmt.Errorf("the snapshot %s cannot be restored: %w; %s", source.Path, err, storage.ReplaceNode))
	} else if err != nil {
		return m.guard.FailRead(fmt.Errorf("the snapshot %s cannot be restored: %w", source.Path, err))
	}
	applied := max(m.machine.AppliedIndex(), source.Index)
	m.restored.Add(1)
	m.forgetDeleted()
	m.inlined.Store(0)
	if m.bodies != nil && m.bodies.RestoredInline() {
		m.inlined.Store(source.Index)
		m.log.SnapshotDueAfter(inlinedDue)
	}
	m.advance(applied)
	if known {
		m.log.BeginAfter(source.Index, source.Term)
	}
	if known && m.live.Load() {
		m.log.ExpectTruncation(source.Index)
	}
	return nil
}

// advance records the last applied entry and wakes waiting callers.
func (m *machine) advance(index uint64) {
	for {
		applied := m.applied.Load()
		if index <= applied {
			return
		}
		if m.applied.CompareAndSwap(applied, index) {
			break
		}
	}
	m.moved.Notify()
}

// pacedSnapshot writes at a bounded rate until ctx ends.
type pacedSnapshot struct {
	raft.FSMSnapshot
	pacer *Pacer
	ctx   context.Context
}

// Persist writes the snapshot.
func (s *pacedSnapshot) Persist(sink raft.SnapshotSink) error {
	return s.FSMSnapshot.Persist(&pacedSink{SnapshotSink: sink, pacer: s.pacer, ctx: s.ctx})
}

type pacedSink struct {
	raft.SnapshotSink
	pacer *Pacer
	ctx   context.Context
}

// Write writes, and then waits to limit the rate.
func (s *pacedSink) Write(content []byte) (int, error) {
	n, err := s.SnapshotSink.Write(content)
	if err == nil && !s.pacer.Wrote(s.ctx, n) {
		err = s.ctx.Err()
	}
	return n, err
}
