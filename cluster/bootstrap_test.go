package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

func clusterIDs(g *groups) []string {
	var ids []string
	for _, m := range g.All {
		if m.group != nil {
			ids = append(ids, m.process.clusterID())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestBootstrapInEveryStartOrder(t *testing.T) {
	t.Parallel()
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			g := newGroups(t, 3, nil)
			for n, i := range order {
				g.All[i].start()
				if n == 1 {
					// Two of three nodes do not begin a cluster, however long they wait.
					g.waitForView(g.All[i], 1)
				}
			}
			g.Agree(g.Propose(0, 3))
			if ids := clusterIDs(g); len(ids) != 1 || ids[0] == "" {
				t.Errorf("clusters %q", ids)
			}
			g.stopAll()
		})
	}
}

// waitForView waits until m sees n others.
func (g *groups) waitForView(m *member, n int) {
	g.T.Helper()
	ctx := clustertest.Context(g.T)
	for {
		changed := m.process.gossip.Changes()
		if len(m.process.gossip.View()) >= n {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			g.T.Fatalf("%s sees %d others, not %d", m.cfg.NodeName, len(m.process.gossip.View()), n)
		}
	}
}

func TestBootstrapOfOne(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 1, nil)
	g.startAll()
	g.Agree(g.Propose(0, 3))
	g.stopAll()
	g.startAll()
	g.Agree(g.Propose(3, 5))
}

func TestBootstrapLeavesOutTheLateNode(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 4, func(_ int, cfg *Config) { cfg.BootstrapExpect = 3 })
	late := g.All[0] // it has the smallest id, so it would begin the cluster
	for _, m := range g.All[1:] {
		m.start()
	}
	g.Agree(g.Propose(0, 3), g.All[1:]...)
	late.start()
	g.waitForView(late, 3)
	// It waits to be added once it sees nodes with state, whatever else it hears. Until then it
	// waits for the nodes that have pledged to another cluster.
	for missing := ""; !strings.Contains(missing, "added"); {
		if missing = late.process.bootstrap.Missing(); late.process.clusterID() != "" {
			t.Fatalf("the late node: %q, cluster %q", missing, late.process.clusterID())
		}
		if !wakeup.Sleep(clustertest.Context(t), 10*time.Millisecond) {
			t.Fatalf("the late node: %q", missing)
		}
	}
}

func TestBootstrapSurvivesACrashAfterThePledges(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	// The nodes draw their ids and pledge to begin a cluster, but stop before they write the first
	// entry.
	var members []string
	for _, m := range g.All {
		dir := openTestDir(t, m.cfg.DataDir, m.cfg.NodeName)
		members = append(members, dir.NodeID)
	}
	slices.Sort(members)
	for _, m := range g.All {
		dir := openTestDirAgain(t, m)
		clustertest.Must(t, dir.SetMembership(storage.Membership{ClusterID: storage.ClusterIDOf(members), InitialMembers: members}))
		dir.Close()
	}
	g.startAll()
	g.Agree(g.Propose(0, 3))
	if ids := clusterIDs(g); !slices.Equal(ids, []string{storage.ClusterIDOf(members)}) {
		t.Errorf("clusters %q", ids)
	}
}

// openTestDirAgain opens a directory that storage.OpenTestDir locked.
func openTestDirAgain(t *testing.T, m *member) *storage.Dir {
	t.Helper()
	clustertest.Must(t, os.Rename(m.cfg.DataDir, m.cfg.DataDir+".moved"))
	clustertest.Must(t, os.CopyFS(m.cfg.DataDir, os.DirFS(m.cfg.DataDir+".moved")))
	return openTestDir(t, m.cfg.DataDir, m.cfg.NodeName)
}

func TestBootstrapGivesUpAndIsFreed(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	// One node has pledged to a member that never asked it, as if that member had withdrawn while
	// this node was away.
	pledged := g.All[2]
	dir := openTestDir(t, pledged.cfg.DataDir, pledged.cfg.NodeName)
	g.All[0].start()
	stale := []string{g.All[0].process.nodeID, "x-00000000", dir.NodeID}
	clustertest.Must(t, dir.SetMembership(storage.Membership{ClusterID: storage.ClusterIDOf(stale), InitialMembers: stale}))
	dir.Close()
	g.All[1].start()
	pledged.start()
	g.Agree(g.Propose(0, 3))
	if ids := clusterIDs(g); len(ids) != 1 || ids[0] == storage.ClusterIDOf(stale) {
		t.Errorf("clusters %q", ids)
	}
}
