package wire

import "github.com/hashicorp/raft"

// Failure is the reason why the other node did not answer a request. The connection remains usable.
type Failure string

// Error returns the reason.
func (f Failure) Error() string { return string(f) }

// kind is the kind of a frame. The numbers are part of the protocol between nodes and are
// never reused.
type kind uint8

const (
	kindAppendEntries   kind = 1
	kindRequestVote     kind = 2
	kindRequestPreVote  kind = 3
	kindInstallSnapshot kind = 4
	kindTimeoutNow      kind = 5

	kindSnapshot kind = 16 // a part of a snapshot
	kindWanted   kind = 17 // requests the next part of a snapshot, or bodies that belong to it
	kindAnswer   kind = 32 // an answer, whose form depends on the request
	kindFailure  kind = 33 // the reason for a missing answer
)

// kindOf returns the kind of a request, or 0 for any other value.
func kindOf(request any) kind {
	switch request.(type) {
	case *raft.AppendEntriesRequest:
		return kindAppendEntries
	case *raft.RequestVoteRequest:
		return kindRequestVote
	case *raft.RequestPreVoteRequest:
		return kindRequestPreVote
	case *raft.InstallSnapshotRequest:
		return kindInstallSnapshot
	case *raft.TimeoutNowRequest:
		return kindTimeoutNow
	}
	return 0
}
