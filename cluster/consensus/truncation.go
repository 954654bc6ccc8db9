package consensus

import (
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// truncationRequest is the message that tells a follower's library where its log now
// ends, after a snapshot was installed, see storage.TruncationEntry. It seems to come
// from the leader that sent the snapshot.
func truncationRequest(installed *raft.InstallSnapshotRequest) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		RPCHeader: installed.RPCHeader,
		Term:      installed.Term,
		Entries:   []*raft.Log{storage.TruncationEntry(installed.LastLogIndex, installed.LastLogTerm)},
	}
}
