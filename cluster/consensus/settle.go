package consensus

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// SettleRequest is the message to a follower that has installed a snapshot.
func SettleRequest(installed *raft.InstallSnapshotRequest) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		RPCHeader: installed.RPCHeader,
		Term:      installed.Term,
		Leader:    installed.Leader,
		Entries:   []*raft.Log{storage.SettleEntry(installed.LastLogIndex, installed.LastLogTerm)},
	}
}

// settle tells a follower that has installed a snapshot where its log now ends, see
// storage.SettleEntry.
func (t *Transport) settle(id raft.ServerID, target raft.ServerAddress, installed *raft.InstallSnapshotRequest) error {
	var answer raft.AppendEntriesResponse
	if err := t.NetworkTransport.AppendEntries(id, target, SettleRequest(installed), &answer); err != nil {
		return fmt.Errorf("settle the log behind the snapshot: %w", err)
	}
	if !answer.Success {
		return fmt.Errorf("node %s did not settle its log behind the snapshot", id)
	}
	return nil
}
