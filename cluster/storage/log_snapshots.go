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
	baseline  atomic.Int64  // value of LogStore.Appended at the last snapshot
	deleted   atomic.Int64  // bytes of bodies that were deleted since
	demanded  atomic.Bool
}

// WhenSnapshotDue is signalled when a snapshot may be due.
func (s *LogStore) WhenSnapshotDue() <-chan struct{} { return s.due.signal }

// SnapshotDue reports whether a snapshot is due. It forgets a demand.
func (s *LogStore) SnapshotDue() bool { return s.due.demanded.Swap(false) || s.grown() }

// grown reports whether so much was appended or deleted that a snapshot is due.
func (s *LogStore) grown() bool {
	threshold := s.due.threshold.Load()
	return s.Appended()-s.due.baseline.Load() >= threshold || s.due.deleted.Load() >= threshold
}

// signalGrown signals if a snapshot is due.
func (s *LogStore) signalGrown() {
	if s.grown() {
		s.due.signal.Notify()
	}
}

// NoteDeleted counts bytes of bodies that were deleted.
func (s *LogStore) NoteDeleted(bytes int64) {
	s.due.deleted.Add(bytes)
	s.signalGrown()
}

// Deleted is how many bytes of deleted bodies wait for a snapshot.
func (s *LogStore) Deleted() int64 { return s.due.deleted.Load() }

// SnapshotTaken says that a snapshot holds what had been appended up to a value of
// Appended, and is without what had been deleted at a value of Deleted; and after how many
// bytes the next is due.
func (s *LogStore) SnapshotTaken(appended, deleted, nextAfter int64) {
	s.due.baseline.Store(appended)
	s.due.deleted.Add(-deleted)
	s.due.threshold.Store(nextAfter)
}

// SnapshotDueAfter sets how many bytes after the last snapshot the next is due.
func (s *LogStore) SnapshotDueAfter(bytes int64) { s.due.threshold.Store(bytes) }

// PostponeSnapshot makes one due again after part of the usual bytes.
func (s *LogStore) PostponeSnapshot(part int64) {
	later := s.due.threshold.Load() / part
	s.due.baseline.Add(later)
	s.due.deleted.Add(-later)
}

// DemandSnapshot makes one due now.
func (s *LogStore) DemandSnapshot() {
	s.due.demanded.Store(true)
	s.due.signal.Notify()
}
