package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// members asks node i for the state of all members and waits for the leader's answer.
func (c *nodes) members(i int) MemberList {
	c.t.Helper()
	list, err := c.nodes[i].Members(clustertest.Context(c.t))
	clustertest.Must(c.t, err)
	return list
}

// A removed node that still runs is not listed as waiting to join, and a waiting node that ends is
// no longer listed.
func TestOnlyNodesThatWaitAreListed(t *testing.T) {
	t.Parallel()
	c, ends := startGrowing(t, 3, func(cfg *Config) { cfg.Members.ManualJoin = true })
	ctx := clustertest.Context(t)
	i := c.grow(ends, nil)
	c.waitFor("the new node to be listed", func() bool {
		return slices.ContainsFunc(c.members(0).Waiting, func(w WaitingNode) bool { return w.Name == "n4" })
	})
	clustertest.Must(t, c.nodes[0].AddMember(ctx, Change{Node: "n4"}))
	c.waitReady(i)
	c.waitFor("the new node to know that it is a member", func() bool { return c.nodes[i].process.bootstrap.Record().Added })
	if list := c.roles("n1 voter, n2 voter, n3 voter, n4 learner"); len(list.Waiting) != 0 {
		t.Errorf("a member waits: %+v", list.Waiting)
	}
	clustertest.Must(t, c.nodes[0].RemoveMember(ctx, Change{Node: "n4"}))
	for len(c.members(0).Members) != 3 {
		t.Error("removed, and still a member")
	}
	if list := c.members(c.leader()); len(list.Waiting) != 0 {
		t.Errorf("the removed node is listed: %+v", list.Waiting)
	}
	c.waitFor("the removed node to end", func() bool { return ends.of("n4") == ExitRemoved })
	c.crash(i)

	j := c.grow(ends, nil)
	c.waitFor("the next one to be listed", func() bool { return len(c.members(0).Waiting) == 1 })
	c.crash(j)
	if list := c.members(0); len(list.Waiting) != 0 {
		t.Errorf("a node that is gone waits: %+v", list.Waiting)
	}
}

func TestDrainedMemberIsListed(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	follower := c.followers()[0]
	clustertest.Must(t, c.nodes[follower].Drain(clustertest.Context(t)))
	for i := range c.nodes {
		for j, m := range c.members(i).Members {
			if m.Drained != (j == follower) {
				t.Errorf("node %d sees %+v", i, m)
			}
		}
		if c.nodes[i].Status().Drained != (i == follower) {
			t.Errorf("node %d: %+v", i, c.nodes[i].Status())
		}
	}
	c.nodes[follower].Uncordon()
	if c.members(0).Members[follower].Drained || c.nodes[follower].Status().Drained {
		t.Error("it still is drained")
	}
}

// The only voter cannot hand leadership over, and refuses at once.
func TestLeadershipOfTheOnlyVoterIsNotHandedOver(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	wantRefusal(t, c.nodes[0].MoveLeadership(clustertest.Context(t), Change{}), RefusedUnsafe, "only voter")
	wantRefusal(t, c.nodes[0].MoveLeadership(clustertest.Context(t), Change{Node: "n1"}), RefusedUnsafe, "only voter")
	if list := c.members(0); !list.Healthy || list.MayFail != 0 || len(list.Warnings) != 1 ||
		!strings.Contains(list.Warnings[0], "1 voter") {
		t.Errorf("%+v", list)
	}
}

func TestStatusBeforeThereIsACluster(t *testing.T) {
	t.Parallel()
	c := prepareNodes(t, 3, nil)
	c.open(0)
	const want = "waiting for 2 of 3 initial members: n1 is here"
	// An answer that waited for a leader would come after the deadline of the call and would not
	// contain the reason.
	c.waitFor("the reason", func() bool {
		_, err := c.nodes[0].Members(clustertest.Context(t))
		return errors.Is(err, ErrUnavailable) && strings.Contains(err.Error(), want)
	})
	list := c.nodes[0].LocalMembers(clustertest.Context(t))
	if list.Healthy || !strings.HasPrefix(list.Summary, "No cluster yet: "+want) ||
		!strings.Contains(list.Summary, c.configs[2].GossipAddr) {
		t.Errorf("%+v", list)
	}
	status := c.nodes[0].Status()
	if status.Role != "waiting" || len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0], want) {
		t.Errorf("%+v", status)
	}
	if err := c.nodes[0].Ready(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ready: %v", err)
	}
}

// A node can be drained through any other node.
func TestDrainThroughAnotherNode(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	ctx := clustertest.Context(t)
	from, to := c.followers()[0], c.followers()[1]
	for _, drained := range []bool{true, false} {
		id, err := c.nodes[from].DrainMember(ctx, c.configs[to].NodeName, drained)
		if err != nil || id != c.nodes[to].process.nodeID || c.nodes[to].Drained() != drained || c.nodes[from].Drained() {
			t.Errorf("drained %v: %s, %v", drained, id, err)
		}
	}
	_, err := c.nodes[from].DrainMember(ctx, "n9", true)
	wantRefusal(t, err, RefusedUnknownNode, "n9")
}
