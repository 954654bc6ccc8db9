package storage

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// snapshotDue says when a snapshot is due: when as many bytes of log were appended since the
// last one as the threshold says, or when bodies of as many bytes were deleted, which keep
// their space until there is another one. Of what passes both ways the log is the larger
// part, so that this counts only where a backlog is drained.
type snapshotDue struct {
	signal    wakeup.Signal // something may have made one due
	threshold atomic.Int64  // bytes
	demanded  atomic.Bool
	appended  mark // of LogStore.Appended
	deleted   mark // of total
	total     atomic.Int64
}

// mark is where a count that only grows stood when its bytes began to make a snapshot due.
// Marks are values of the count and no differences: a restore may set them while a snapshot
// is being written.
type mark struct {
	taken     atomic.Int64 // at the last snapshot
	postponed atomic.Int64 // at which one that failed is due again, at the earliest
}

// reached reports whether a count makes a snapshot due.
func (m *mark) reached(count, threshold int64) bool {
	return count-m.taken.Load() >= threshold && count >= m.postponed.Load()
}

// set notes a snapshot. One that another has overtaken changes nothing.
func (m *mark) set(count int64) {
	for {
		taken := m.taken.Load()
		if count <= taken || m.taken.CompareAndSwap(taken, count) {
			return
		}
	}
}

// WhenSnapshotDue is signalled when a snapshot may be due.
func (s *LogStore) WhenSnapshotDue() <-chan struct{} { return s.due.signal }

// SnapshotDue reports whether a snapshot is due. It forgets a demand.
func (s *LogStore) SnapshotDue() bool { return s.due.demanded.Swap(false) || s.grown() }

// grown reports whether so much was appended or deleted that a snapshot is due.
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

// NoteDeleted counts bytes of bodies that were deleted.
func (s *LogStore) NoteDeleted(bytes int64) {
	s.due.total.Add(bytes)
	s.signalGrown()
}

// Deleted is how many bytes of bodies were deleted since the store was opened.
func (s *LogStore) Deleted() int64 { return s.due.total.Load() }

// Snapshotted counts the bytes of Appended that the last snapshot replaced.
func (s *LogStore) Snapshotted() int64 { return s.due.appended.taken.Load() }

// Unreclaimed is how many bytes of deleted bodies wait for a snapshot.
func (s *LogStore) Unreclaimed() int64 { return s.Deleted() - s.due.deleted.taken.Load() }

// SnapshotTaken says that a snapshot holds what had been appended up to a value of
// Appended, and is without what had been deleted at a value of Deleted; and after how many
// bytes the next is due.
func (s *LogStore) SnapshotTaken(appended, deleted, nextAfter int64) {
	s.due.appended.set(appended)
	s.due.deleted.set(deleted)
	s.due.threshold.Store(nextAfter)
}

// ForgetDeleted says that nothing of what was deleted waits for a snapshot.
func (s *LogStore) ForgetDeleted() { s.due.deleted.set(s.Deleted()) }

// SnapshotDueAfter sets how many bytes after the last snapshot the next is due.
func (s *LogStore) SnapshotDueAfter(bytes int64) { s.due.threshold.Store(bytes) }

// PostponeSnapshot lets none be due, unless it is demanded, before part of the usual bytes.
func (s *LogStore) PostponeSnapshot(part int64) {
	later := s.due.threshold.Load() / part
	s.due.appended.postponed.Store(s.Appended() + later)
	s.due.deleted.postponed.Store(s.Deleted() + later)
}

// DemandSnapshot makes one due now.
func (s *LogStore) DemandSnapshot() {
	s.due.demanded.Store(true)
	s.due.signal.Notify()
}
