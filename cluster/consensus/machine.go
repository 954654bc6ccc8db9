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

// machine stands between the consensus library and the state machine. It
// knows up to where entries are applied here, which the library does not say
// (its applied index counts entries handed over), paces snapshots, and ends the
// node when a snapshot cannot be restored, where the library would go on with an
// older one.
type machine struct {
	machine stateMachine
	policy  SnapshotPolicy
	guard   *storage.DiskGuard
	log     *storage.LogStore
	store   *storage.SnapshotStore
	bodies  *bodies.Store   // nil: they are in memory
	live    atomic.Bool     // consensus has started: a snapshot comes from the leader
	ctx     context.Context // ends when the group closes
	clock   environment.Clock
	// committed is called after entries were applied. It never blocks.
	committed func()

	applied  atomic.Uint64
	restored atomic.Uint64 // snapshots
	// inlined is the index of the newest snapshot if bodies are in it that this node keeps
	// in segments, 0 if they are not.
	inlined atomic.Uint64
	paused  atomic.Int64 // longest time that capturing the state took, nanoseconds
	longest atomic.Int64 // longest time that applying one batch of entries took, nanoseconds
	members committedMembers
	deleted int64 // bytes of deleted bodies that the log knows of; for who applies

	moved wakeup.Broadcast // applied is higher
}

var _ raft.BatchingFSM = (*machine)(nil)

func newMachine(ctx context.Context, state stateMachine, options Options, log *storage.LogStore, snapshots *storage.SnapshotStore) *machine {
	return &machine{
		machine: state, policy: options.Snapshot, guard: options.Guard, clock: options.Clock,
		log: log, store: snapshots, bodies: options.Bodies, ctx: ctx, committed: func() {},
	}
}

// Apply is never called by a library that knows ApplyBatch.
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

// noteDeleted tells the log what was deleted, so that a snapshot gives its space back.
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

// forgetDeleted is for a restored state: the space of what it does not have is given back
// without another snapshot.
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
	pacer.leisurely = m.leisurely()
	return &pacedSnapshot{FSMSnapshot: snapshot, pacer: pacer, ctx: m.ctx}, nil
}

// leisurely tells the writer of a snapshot whether it has time. It is to be done when half
// of the log that causes the next one is written: until then what is taken from sends is the
// less the longer it takes, and what a restart has to replay is not much more. The last
// snapshot says how large this one will be.
func (m *machine) leisurely() func(written int64) bool {
	began, size := m.log.Appended(), m.store.Newest().Bytes
	room := max(m.policy.LogBytes, size) / 2
	return func(written int64) bool {
		grown := m.log.Appended() - began
		return size > 0 && m.inlined.Load() == 0 && float64(grown)/float64(room) < float64(written)/float64(size)
	}
}

// Restore replaces the state by that of a snapshot. The index of a snapshot
// may be that of an entry which never reaches the state machine.
func (m *machine) Restore(content io.ReadCloser) error {
	source, known := storage.SnapshotSource(content)
	if !known {
		source.Path = "of unknown name"
	} else if err := m.store.DropOlder(source.ID()); err != nil {
		return err
	}
	if err := m.machine.Restore(content); errors.Is(err, format.ErrUnknownFormat) {
		return m.guard.Fail(fault.ExitUnknownFormat, fmt.Errorf("the snapshot %s cannot be read: %w; a newer version of this program wrote it, start that one", source.Path, err))
	} else if errors.Is(err, format.ErrStateMismatch) {
		return m.guard.Fail(fault.ExitStateMismatch, fmt.Errorf("the snapshot %s cannot be restored: %w; %s", source.Path, err, storage.ReplaceNode))
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

// advance notes what is applied and wakes those who wait for it.
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

// pacedSnapshot writes at a bounded rate, until ctx ends.
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

// Write writes and then waits as the pacer demands.
func (s *pacedSink) Write(content []byte) (int, error) {
	n, err := s.SnapshotSink.Write(content)
	if err == nil && !s.pacer.Wrote(s.ctx, n) {
		err = s.ctx.Err()
	}
	return n, err
}
