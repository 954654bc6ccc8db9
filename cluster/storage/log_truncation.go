package storage

import "github.com/hashicorp/raft"

// A truncation after an installed snapshot fixes the part of raft issue 697 that a monotonic log
// store leaves open. A follower whose log contradicts a snapshot installs it and wipes its log, but
// the library still assumes the last entry of the old log. If that lies at or after the snapshot's
// end, it refuses the entries that follow the snapshot, and the leader sends the snapshot for ever.
//
// So after each installed snapshot, and before any other message, the library receives one append
// as if from the leader (cluster/consensus/inbound.go): an entry with the index and term of the
// snapshot's end. The library compares it with the entry that it assumes there, for which the log
// store returns one of term 0. It drops the old log, which is already gone, and appends the new
// entry, which the log store ignores. From then on the library assumes the snapshot's end as the
// last entry.
//
// The entry is never stored: its content is not that of the real entry at this index, which a later
// leader must be able to send. cluster/consensus/exploit_truncation_test.go tests the behaviour of
// the library.

// truncationMark is the Extensions of such an entry.
const truncationMark = "truncate"

// TruncationEntry returns the entry that follows an installed snapshot.
func TruncationEntry(index, term uint64) *raft.Log {
	return &raft.Log{Index: index, Term: term, Type: raft.LogNoop, Extensions: []byte(truncationMark)}
}

func truncates(entries []*raft.Log) bool {
	return len(entries) == 1 && entries[0].Type == raft.LogNoop && string(entries[0].Extensions) == truncationMark
}

// ExpectTruncation announces the truncation for a snapshot that was installed and ends at index,
// before the log is wiped. It runs after every install: the log does not show the last entry that
// the library assumes. An earlier install may have wiped it without a truncation, or a truncation
// ignored that entry.
func (s *LogStore) ExpectTruncation(index uint64) {
	if index > BoundaryMin {
		s.truncating.Store(index)
	}
}

// staleEntry returns the entry at the end of an installed snapshot until the truncation: one that
// differs from every other. No other message reaches the library before that, so it is never sent.
func (s *LogStore) staleEntry(index uint64, entry *raft.Log) bool {
	if index == 0 || s.truncating.Load() != index {
		return false
	}
	*entry = raft.Log{Index: index, Type: raft.LogNoop}
	return true
}
