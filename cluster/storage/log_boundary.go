package storage

import "github.com/hashicorp/raft"

// The entry at the end of a snapshot counts as known, although the log begins
// behind it: the library proves with it that the entries after a snapshot fit. It
// remembers that entry itself only of the newest snapshot it knows of, which at
// the start is the state that the replay reached (cluster/consensus/replay.go) and not the one it
// sends. A leader whose log begins right behind its newest snapshot would send
// that, ask for the entry at its end, find none, and send it again, for ever. Tested by cluster/consensus/exploit_replay_test.go.

// BoundaryMin is the first index, which is never shown like this: the library
// sends entry 1 without asking for one before it, and would send what is shown
// here as if it were the real one. All others it sends only if the log holds the
// one before, too.
const BoundaryMin = 1

// BeginAfter notes the end of a snapshot that was restored.
func (s *LogStore) BeginAfter(index, term uint64) {
	s.boundary.Store(&raft.Log{Index: index, Term: term, Type: raft.LogNoop})
}

// boundaryEntry is the entry at index, without its content, if the snapshot that
// was restored last ends there.
func (s *LogStore) boundaryEntry(index uint64, entry *raft.Log) bool {
	end := s.boundary.Load()
	if end == nil || end.Index != index || index <= BoundaryMin {
		return false
	}
	*entry = *end
	return true
}
