package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// truncationRequest returns the message after an installed snapshot that sets the end of the
// library's log, see storage.TruncationEntry. It appears to come from the leader that sent the
// snapshot.
func truncationRequest(installed *raft.InstallSnapshotRequest) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		RPCHeader: installed.RPCHeader,
		Term:      installed.Term,
		Entries:   []*raft.Log{storage.TruncationEntry(installed.LastLogIndex, installed.LastLogTerm)},
	}
}

// finishInstall wipes a log that the newest snapshot replaced. The library wipes it after the
// snapshot is on disk. A node that stopped in between would append the following entries to a log
// that ends before the snapshot: a gap, which no store accepts. The log holds nothing that is
// needed: it ends before the snapshot or contradicts it.
func (g *Group) finishInstall(newest raft.SnapshotMeta) error {
	first, err := g.stores.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.stores.log.LastIndex()
	if err != nil || last == 0 || first > newest.Index {
		return err
	}
	if last >= newest.Index {
		var entry raft.Log
		if err := g.stores.log.GetLog(newest.Index, &entry); err != nil || entry.Term == newest.Term {
			return err
		}
	}
	g.options.Logger.Info("removing the log that an installed snapshot replaced", "first", first, "last", last, "snapshot", newest.Index)
	if err := g.stores.log.DeleteRange(first, last); err != nil {
		return fmt.Errorf("remove the log that a snapshot has replaced: %w", errors.Join(err, g.options.Guard.Poisoned()))
	}
	return nil
}
