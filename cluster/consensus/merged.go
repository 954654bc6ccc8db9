package consensus

import (
	"slices"

	"github.com/hashicorp/raft"
)

// A follower writes one message after the other, each with a sync of its own. What
// arrives meanwhile waits in the connection, and was written with a sync for each
// message, too, although one is enough for all of it. Here messages that wait are handed
// to the library as one, and each of them gets its own answer. Doc.go has the argument
// why that is the same.

// mergedMax bounds the entries that are passed to the library as one message.
// Their bytes are bounded by what a connection reads ahead.
const mergedMax = 4 * appendEntriesMax

// follows reports whether the library could have been sent the entries of both messages
// in one: the same leader, in the same term, sends what comes right behind.
func follows(before, after *raft.AppendEntriesRequest) bool {
	index, term := endOf(before)
	return after.Term == before.Term && after.PrevLogEntry == index && after.PrevLogTerm == term &&
		index > 0 && sameHeader(before, after)
}

func sameHeader(a, b *raft.AppendEntriesRequest) bool {
	return a.ProtocolVersion == b.ProtocolVersion && slices.Equal(a.ID, b.ID) && slices.Equal(a.Addr, b.Addr)
}

// endOf is the entry at the end of what a message compares with the log.
func endOf(m *raft.AppendEntriesRequest) (index, term uint64) {
	if n := len(m.Entries); n > 0 {
		return m.Entries[n-1].Index, m.Entries[n-1].Term
	}
	return m.PrevLogEntry, m.PrevLogTerm
}

// merged is one message in place of several that follow each other. None of them commits
// more than it compares, and so neither does it.
func merged(requests []*raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	whole := *requests[0]
	whole.Entries = nil
	for _, request := range requests {
		whole.Entries = append(whole.Entries, request.Entries...)
		whole.LeaderCommitIndex = max(whole.LeaderCommitIndex, boundCommit(request).LeaderCommitIndex)
	}
	return &whole
}

// answersTo are the answers to messages that were handed on as one, which succeeded: what
// the library would have said to each.
func answersTo(requests []*raft.AppendEntriesRequest, whole *raft.AppendEntriesResponse) []*raft.AppendEntriesResponse {
	answers := make([]*raft.AppendEntriesResponse, len(requests))
	for i := range requests {
		own := *whole
		if i > 0 { // the log is asked where it ends when it has the one before, at the least
			own.LastLog, _ = endOf(requests[i-1])
		}
		answers[i] = &own
	}
	return answers
}
