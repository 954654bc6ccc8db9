package storage

import "github.com/hashicorp/raft"

// GetLog also returns the entry at the end of a snapshot, although the log begins after it: the
// library needs it to prove that the entries after a snapshot fit. The library itself remembers
// that entry only for the newest snapshot that it knows of, which after a start is the state that
// the replay reached (cluster/consensus/replay.go), not the snapshot it sends. Without this, a
// leader whose log begins right after its newest snapshot would send that snapshot for ever. Tested
// by cluster/consensus/exploit_replay_test.go.
//
// The same holds for the last entry that compaction removed. Without it a leader would send a
// snapshot to a follower that lacks only the entries after it.

// BoundaryMin is the first index, which GetLog never returns as a boundary: the library sends entry
// 1 without checking an entry before it, and would send the boundary as if it were the real entry.
const BoundaryMin = 1

// BeginAfter records the end of a restored snapshot.
func (s *LogStore) BeginAfter(index, term uint64) {
	s.boundary.Store(&raft.Log{Index: index, Term: term, Type: raft.LogNoop})
}

// compactedEnd returns the boundary for entries that are removed from the beginning of the log. It
// is nil if the entries are uncommitted, or wiped for a snapshot that may contradict them.
func (s *LogStore) compactedEnd(from, to, first, last uint64) *raft.Log {
	if from > first || to < first || to > last || s.truncating.Load() != 0 {
		return nil
	}
	if to == last && (s.mark.committed == nil || s.mark.committed() < to) {
		return nil
	}
	var entry raft.Log
	if err := s.GetLog(to, &entry); err != nil {
		return nil // the log is compacted without a boundary
	}
	return &raft.Log{Index: to, Term: entry.Term, Type: raft.LogNoop}
}

// boundaryEntry returns the entry at index, without its content, if the last restored snapshot or
// the last compaction ends there.
func (s *LogStore) boundaryEntry(index uint64, entry *raft.Log) bool {
	end := s.boundary.Load()
	if end == nil || end.Index != index || index <= BoundaryMin {
		return false
	}
	*entry = *end
	return true
}
