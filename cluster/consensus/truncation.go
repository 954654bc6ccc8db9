package consensus

import (
	"errors"
	"fmt"

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

// finishInstall wipes a log that the newest snapshot has replaced. The library wipes it
// after the snapshot is on disk, and a node that is stopped in between would append what
// follows the snapshot to a log that ends before it: a gap, which no store takes. Nothing
// in such a log is missed: it ends before the snapshot does, or contradicts it, and what
// is committed never does.
func (g *Group) finishInstall(newest raft.SnapshotMeta) error {
	first, err := g.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.log.LastIndex()
	if err != nil || last == 0 || first > newest.Index {
		return err
	}
	if last >= newest.Index {
		var entry raft.Log
		if err := g.log.GetLog(newest.Index, &entry); err != nil || entry.Term == newest.Term {
			return err
		}
	}
	g.options.Logger.Info("removing the log that an installed snapshot has replaced", "first", first, "last", last, "snapshot", newest.Index)
	if err := g.log.DeleteRange(first, last); err != nil {
		return fmt.Errorf("remove the log that a snapshot has replaced: %w", errors.Join(err, g.options.Guard.Poisoned()))
	}
	return nil
}
