package consensus

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A snapshot of this node that begins before the installation of the leader's and ends after it is
// not the newest, and does not make this node accept an older one of the leader.
func TestOwnOlderSnapshotIsNotTheNewest(t *testing.T) {
	n := newLone(t, t.TempDir(), nil)
	n.start()
	leader := n.play("leader")
	if got := leader.appends(n, &raft.AppendEntriesRequest{Term: 3, Entries: leader.logs(3, 1, 10), LeaderCommitIndex: 10}); !got.Success {
		t.Fatal("the log is refused")
	}
	clustertest.Must(t, n.group.WaitApplied(clustertest.Context(t), 10))
	// These are the library's steps for a snapshot of this node.
	captured, err := n.group.machine.Snapshot()
	clustertest.Must(t, err)
	own, err := n.group.stores.snapshots.Create(1, 10, 3, raft.Configuration{}, 1, n.trans)
	clustertest.Must(t, err)
	leader.installs(n, 4, 25, 4)
	clustertest.Must(t, captured.Persist(own))
	captured.Release()
	if newest := n.group.stores.snapshots.Newest().Index; newest != 25 {
		t.Errorf("the newest snapshot is said to end at %d, it ends at 25", newest)
	}
	if got := leader.appends(n, &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 25, PrevLogTerm: 4, Entries: leader.logs(4, 26, 30),
		LeaderCommitIndex: 30}); !got.Success {
		t.Fatal("what follows the snapshot is refused")
	}
	clustertest.Must(t, n.group.WaitApplied(clustertest.Context(t), 30))
	if _, resp, err := leader.offers(n, 4, 20, 4); err != nil || resp.Success { // it arrives late
		t.Errorf("%+v, %v", resp, err)
	}
	if last := n.raft.LastIndex(); last != 30 {
		t.Errorf("the log ends at %d: entries up to 30 were confirmed and applied, and are taken back", last)
	}
	if at := n.group.machine.machine.AppliedIndex(); at < 30 {
		t.Errorf("the state went back from entry 30 to %d", at)
	}
}
