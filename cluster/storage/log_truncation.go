package storage

import "github.com/hashicorp/raft"

// Truncation behind an installed snapshot mends what raft issue 697 leaves open even
// with a monotonic log store. A follower whose log contradicts a snapshot gets it
// installed, and its log is wiped; but the library goes on believing in the last
// entry of the old log. If that lies at or behind the snapshot's end, it refuses the
// entries that follow the snapshot, the leader sends the snapshot again, and so on
// for ever.
//
// So each installed snapshot is followed by one message to the library, as if the
// leader sent it, before anything else arrives there (cluster/consensus/inbound.go):
// append an entry with the index and term of the snapshot's end, after nothing. The
// library compares it with the entry it believes to have, for which its log store
// shows one of no term. It drops the old log, which is gone already, and appends the
// new entry, which the log store leaves out. From then on it believes what is true:
// that it knows everything up to the snapshot's end and nothing after it.
//
// What this relies on in the library is tested by
// cluster/consensus/exploit_truncation_test.go.
//
// The entry is never stored, because its content is not that of the real entry
// at this index, which a later leader must be able to send.

// truncationMark is the Extensions of such an entry.
const truncationMark = "settle" // as older versions send it

// TruncationEntry is the entry that follows an installed snapshot.
func TruncationEntry(index, term uint64) *raft.Log {
	return &raft.Log{Index: index, Term: term, Type: raft.LogNoop, Extensions: []byte(truncationMark)}
}

func truncates(entries []*raft.Log) bool {
	return len(entries) == 1 && entries[0].Type == raft.LogNoop && string(entries[0].Extensions) == truncationMark
}

// ExpectTruncation is called when a snapshot that ends at index was installed and
// the log is about to be wiped. What the library believes to be the end of the log
// cannot be seen in the log: it may have been wiped by an earlier install that no
// truncation followed, or be the very entry that a truncation left out. So one
// follows every install, also one after which the library believes nothing wrong.
func (s *LogStore) ExpectTruncation(index uint64) {
	if index > BoundaryMin {
		s.truncating.Store(index)
	}
}

// staleEntry is what the library sees at the end of an installed snapshot until the
// truncation: an entry that differs from every other. Nothing else arrives at the
// library before that, so nobody gets it from here.
func (s *LogStore) staleEntry(index uint64, entry *raft.Log) bool {
	if index == 0 || s.truncating.Load() != index {
		return false
	}
	*entry = raft.Log{Index: index, Type: raft.LogNoop}
	return true
}
