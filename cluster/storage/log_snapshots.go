package storage

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// snapshotDue decides when a snapshot is due: after threshold bytes of log, or after threshold
// bytes of deleted bodies, whose space a snapshot frees. Usually the log grows faster; deleted
// bodies count when consumers drain a backlog.
type snapshotDue struct {
	signal    wakeup.Signal // a snapshot may be due
	threshold atomic.Int64  // bytes
	demanded  atomic.Bool
	appended  mark // of LogStore.Appended
	deleted   mark // of total, bytes of deleted bodies
	total     atomic.Int64
}

// mark records the value of a growing counter at the last snapshot. The bytes since then make the next
// one due. Absolute values, because a restore may set them while a snapshot is being written.
type mark struct {
	taken     atomic.Int64 // at the last snapshot
	postponed atomic.Int64 // earliest position for the retry of a failed one
}

// reached reports whether count makes a snapshot due.
func (m *mark) reached(count, threshold int64) bool {
	return count-m.taken.Load() >= threshold && count >= m.postponed.Load()
}

// set records a snapshot. An older position than the recorded one changes nothing.
func (m *mark) set(count int64) {
	for {
		taken := m.taken.Load()
		if count <= taken || m.taken.CompareAndSwap(taken, count) {
			return
		}
	}
}

// WhenSnapshotDue returns a channel that is signalled when a snapshot may be due.
func (s *LogStore) WhenSnapshotDue() <-chan struct{} { return s.due.signal }

// SnapshotDue reports whether a snapshot is due. It consumes a demand.
func (s *LogStore) SnapshotDue() bool { return s.due.demanded.Swap(false) || s.grown() }

// grown reports whether enough bytes were appended or deleted.
func (s *LogStore) grown() bool {
	threshold := s.due.threshold.Load()
	return s.due.appended.reached(s.Appended(), threshold) || s.due.deleted.reached(s.Deleted(), threshold)
}

// signalGrown signals if a snapshot is due.
func (s *LogStore) signalGrown() {
	if s.grown() {
		s.due.signal.Notify()
	}
}

// NoteDeleted counts bytes of deleted bodies.
func (s *LogStore) NoteDeleted(bytes int64) {
	s.due.total.Add(bytes)
	s.signalGrown()
}

// Deleted returns the bytes of bodies deleted since the store was opened.
func (s *LogStore) Deleted() int64 { return s.due.total.Load() }

// Snapshotted returns the value of Appended at the last snapshot.
func (s *LogStore) Snapshotted() int64 { return s.due.appended.taken.Load() }

// Unreclaimed returns the bytes of deleted bodies whose space waits for a snapshot.
func (s *LogStore) Unreclaimed() int64 { return s.Deleted() - s.due.deleted.taken.Load() }

// SnapshotTaken records a snapshot that covers the given values of Appended and Deleted, and the
// bytes after which the next one is due.
func (s *LogStore) SnapshotTaken(appended, deleted, nextAfter int64) {
	s.due.appended.set(appended)
	s.due.deleted.set(deleted)
	s.due.threshold.Store(nextAfter)
}

// ForgetDeleted records that no deleted body waits for a snapshot.
func (s *LogStore) ForgetDeleted() { s.due.deleted.set(s.Deleted()) }

// SnapshotDueAfter sets the bytes after the last snapshot at which the next one is due.
func (s *LogStore) SnapshotDueAfter(bytes int64) { s.due.threshold.Store(bytes) }

// PostponeSnapshot delays the next snapshot, unless demanded, by 1/part of the usual bytes.
func (s *LogStore) PostponeSnapshot(part int64) {
	later := s.due.threshold.Load() / part
	s.due.appended.postponed.Store(s.Appended() + later)
	s.due.deleted.postponed.Store(s.Deleted() + later)
}

// DemandSnapshot makes a snapshot due now.
func (s *LogStore) DemandSnapshot() {
	s.due.demanded.Store(true)
	s.due.signal.Notify()
}
