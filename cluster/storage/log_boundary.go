package storage

import "github.com/hashicorp/raft"

// The entry at the end of a snapshot counts as known, although the log begins
// behind it: the library proves with it that the entries after a snapshot fit. It
// remembers that entry itself only of the newest snapshot it knows of, which at
// the start is the state that the replay reached (cluster/consensus/replay.go) and not the one it
// sends. A leader whose log begins right behind its newest snapshot would send
// that, ask for the entry at its end, find none, and send it again, for ever. Tested by
// cluster/consensus/exploit_replay_test.go.
//
// So does the last entry that was removed when the log was compacted: what comes right
// behind it is here, and fits it. A follower whose log begins there would refuse it, and
// a leader would send a snapshot to one that lacks nothing else.

// BoundaryMin is the first index, which is never shown like this: the library
// sends entry 1 without asking for one before it, and would send what is shown
// here as if it were the real one. All others it sends only if the log holds the
// one before, too.
const BoundaryMin = 1

// BeginAfter notes the end of a snapshot that was restored.
func (s *LogStore) BeginAfter(index, term uint64) {
	s.boundary.Store(&raft.Log{Index: index, Term: term, Type: raft.LogNoop})
}

// compactedEnd is what remains to be known of entries that are removed from the beginning
// of the log; nil if they are taken back, or wiped for a snapshot that may contradict
// them: both remove the end, and what is taken back is not committed.
func (s *LogStore) compactedEnd(from, to, first, last uint64) *raft.Log {
	if from > first || to < first || to > last || s.truncating.Load() != 0 {
		return nil
	}
	if to == last && (s.mark.committed == nil || s.mark.committed() < to) {
		return nil
	}
	var entry raft.Log
	if err := s.GetLog(to, &entry); err != nil {
		return nil // the log is shortened all the same
	}
	return &raft.Log{Index: to, Term: entry.Term, Type: raft.LogNoop}
}

// boundaryEntry is the entry at index, without its content, if the snapshot that
// was restored last ends there, or what was removed last.
func (s *LogStore) boundaryEntry(index uint64, entry *raft.Log) bool {
	end := s.boundary.Load()
	if end == nil || end.Index != index || index <= BoundaryMin {
		return false
	}
	*entry = *end
	return true
}
