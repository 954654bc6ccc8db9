package consensus

import (
	"slices"

	"github.com/hashicorp/raft"
)

// A follower writes each message with a sync. Messages that arrive meanwhile wait in the
// connection. Here waiting messages are passed to the library as one, with one sync, and each gets
// its own answer. The package comment argues that the result is the same.

// mergedMax bounds the entries that are passed to the library as one message. The read buffer of a
// connection bounds their bytes.
const mergedMax = 4 * appendEntriesMax

// follows reports whether the leader could have sent the entries of both messages in one: same
// leader and term, and after begins where before ends.
func follows(before, after *raft.AppendEntriesRequest) bool {
	index, term := endOf(before)
	return after.Term == before.Term && after.PrevLogEntry == index && after.PrevLogTerm == term &&
		index > 0 && sameHeader(before, after)
}

func sameHeader(a, b *raft.AppendEntriesRequest) bool {
	return a.ProtocolVersion == b.ProtocolVersion && slices.Equal(a.ID, b.ID) && slices.Equal(a.Addr, b.Addr)
}

// endOf returns the last entry that a message compares with the log.
func endOf(m *raft.AppendEntriesRequest) (index, term uint64) {
	if n := len(m.Entries); n > 0 {
		return m.Entries[n-1].Index, m.Entries[n-1].Term
	}
	return m.PrevLogEntry, m.PrevLogTerm
}

// merged returns one message for several that follow each other. Its commit index is bounded as
// theirs are.
func merged(requests []*raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	whole := *requests[0]
	whole.Entries = nil
	for _, request := range requests {
		whole.Entries = append(whole.Entries, request.Entries...)
		whole.LeaderCommitIndex = max(whole.LeaderCommitIndex, boundCommit(request).LeaderCommitIndex)
	}
	return &whole
}

// answersTo returns the answer to each of several messages from the successful answer to the merged
// one.
func answersTo(requests []*raft.AppendEntriesRequest, whole *raft.AppendEntriesResponse) []*raft.AppendEntriesResponse {
	answers := make([]*raft.AppendEntriesResponse, len(requests))
	for i := range requests {
		own := *whole
		if i > 0 { // the library would report at least the end of the message before
			own.LastLog, _ = endOf(requests[i-1])
		}
		answers[i] = &own
	}
	return answers
}
