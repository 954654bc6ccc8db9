package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
)

// A restarted node whose log begins right after a snapshot must be able to send its state to an
// empty node, although the library then asks for the entry at the snapshot's end, which is in no
// log.

// smallTrail keeps almost no log entries behind a snapshot, and lets no node take a snapshot by
// itself.
func smallTrail(cfg *Config) {
	cfg.Snapshot = SnapshotPolicy{LogBytes: 1 << 40, TrailingBytes: 500, SyncBytes: 1000, BytesPerSecond: 1 << 40}
	cfg.Members.PromoteAfter = 100 * time.Millisecond
}

// bringsUpEmptyNode empties the disk of a follower and waits until it has the state again, without
// a change of leader.
func (c *nodes) bringsUpEmptyNode(leader, empty int) {
	c.t.Helper()
	first := shortened(c.t, c.nodes[leader].group)
	term := c.nodes[leader].group.Leadership().Term
	if c.nodes[empty] != nil {
		c.crash(empty)
		c.wipe(empty)
	}
	begin := time.Now()
	c.open(empty)
	c.waitReady(empty)
	c.waitFor("the states to be the same", func() bool {
		a, b := c.nodes[leader].Status(), c.nodes[empty].Status()
		return a.AppliedIndex == b.AppliedIndex && a.StateHash == b.StateHash
	})
	c.t.Logf("the empty node had the state after %v, the leader's log begins at %d", time.Since(begin), first)
	if now := c.nodes[leader].group.Leadership(); !now.Self || now.Term != term {
		c.t.Errorf("leadership changed meanwhile: it was in term %d, now %+v", term, now)
	}
	c.gotSnapshots(empty, 1)
}

// shortened returns the first index of the log. It fails if the log begins at the first entry.
func shortened(t *testing.T, group *consensus.Group) uint64 {
	t.Helper()
	first, err := group.FirstIndex()
	if err != nil || first <= 1 {
		t.Fatalf("the log begins at %d, %v: it was not shortened", first, err)
	}
	return first
}

// leadsAfterRestart restarts a node and makes it the leader.
func (c *nodes) leadsAfterRestart(i int) {
	c.t.Helper()
	c.close(i)
	c.open(i)
	c.waitReady(i)
	c.waitFor("the wanted leader", func() bool {
		if !c.nodes[i].leads() {
			_ = c.nodes[c.leader()].MoveLeadership(clustertest.Context(c.t), Change{Node: c.configs[i].NodeName}) // it may refuse at first
		}
		return c.nodes[i].leads() && c.agreedLeader() == i
	})
}

// agreedLeader waits until all running nodes know the same leader and returns its index.
func (c *nodes) agreedLeader() (leader int) {
	c.t.Helper()
	c.waitFor("all to know one leader", func() bool {
		leader = c.leader()
		for _, n := range c.nodes {
			if n != nil && n.group.Leadership().LeaderID != c.nodes[leader].process.nodeID {
				return false
			}
		}
		return true
	})
	return leader
}

func (c *nodes) sendSome(through int, name string) {
	for i := range 10 {
		c.send(through, fifo, fmt.Sprint(name, i))
	}
}

func TestInstalledAndRestartedLeaderBringsUpAnEmptyNode(t *testing.T) {
	t.Parallel()
	for _, store := range []string{LogStoreWAL, LogStoreBoltDB} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, 3, func(cfg *Config) { smallTrail(cfg); cfg.Log.Store = store })
			c.create(0, fifo)
			c.sendSome(0, "a")
			c.agree()
			for i, n := range c.nodes {
				clustertest.Must(t, n.group.Snapshot(clustertest.Context(t)))
				c.close(i) // only a newly opened WAL hides what it deleted
				c.open(i)
				c.waitReady(i)
			}
			leader := c.agreedLeader()
			installed := (leader + 1) % 3
			c.bringsUpEmptyNode(leader, installed)
			c.waitFor("the replacement", func() bool {
				err := c.nodes[installed].ReplaceMember(clustertest.Context(t), Change{Node: c.configs[installed].NodeName})
				if refusal := new(MembershipRefusal); err != nil && (!errors.As(err, &refusal) || refusal.Kind != RefusedBusy) {
					t.Fatal(err)
				}
				return err == nil
			})
			c.roles("n1 voter, n2 voter, n3 voter")
			c.sendSome(0, "b")
			c.leadsAfterRestart(installed)
			c.bringsUpEmptyNode(installed, (installed+1)%3)
		})
	}
}

func TestRestoredAndRestartedLeaderBringsUpAnEmptyNode(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, smallTrail)
	leader := c.leader()
	clustertest.Must(t, clustertest.Err(c.nodes[leader].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{})))
	c.sendSome(0, "a")
	c.agree()
	c.leadsAfterRestart(leader)
	c.bringsUpEmptyNode(leader, (leader+1)%3)
}

func TestRecoveredAndRestartedLeaderBringsUpAnEmptyNode(t *testing.T) {
	t.Parallel()
	c, _, _, _, _ := aCluster(t)
	for i := range c.configs {
		smallTrail(&c.configs[i])
	}
	recoverNode(t, c.configs[0].DataDir)
	c.open(0)
	c.waitReady(0)
	c.sendSome(0, "a")
	c.leadsAfterRestart(0)
	for i := 1; i < 3; i++ {
		c.wipe(i)
		c.bringsUpEmptyNode(0, i)
	}
}

// In a rolling restart, operators wait until each node is ready. A node that knows a leader again
// but not yet how many entries it lacks is not ready.
func TestReadyWithWhatWasCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, smallTrail)
	c.create(0, fifo)
	leader := c.agreedLeader()
	away := (leader + 1) % 3
	for round := range 3 {
		c.crash(away)
		c.sendBodies(leader, 30*round, 30*round+30)
		c.snapshotBut(away)
		lacks := c.nodes[leader].Status().AppliedIndex
		c.open(away)
		for node := c.nodes[away]; node.Ready() != nil; runtime.Gosched() {
			if t.Context().Err() != nil {
				t.Fatal(node.Ready())
			}
		}
		if has := c.nodes[away].Status().AppliedIndex; has < lacks {
			t.Fatalf("round %d: ready with entry %d, when %d was committed before it started", round, has, lacks)
		}
		c.agree()
	}
}
