package consensus

import (
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// settleRequest is the message that tells a follower's library where its log now
// ends, after a snapshot was installed, see storage.SettleEntry. It seems to come
// from the leader that sent the snapshot.
func settleRequest(installed *raft.InstallSnapshotRequest) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		RPCHeader: installed.RPCHeader,
		Term:      installed.Term,
		Leader:    installed.Leader,
		Entries:   []*raft.Log{storage.SettleEntry(installed.LastLogIndex, installed.LastLogTerm)},
	}
}
