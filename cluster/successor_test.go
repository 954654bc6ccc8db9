package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/queue"
)

// handOver makes the leader transfer leadership and returns the new leader. On a busy machine the
// old leader may win an election right after this; then it hands over again.
func (c *nodes) handOver() int {
	c.t.Helper()
	before := c.agreedLeader()
	after := before
	c.waitFor("another leader", func() bool {
		err := c.nodes[before].TransferLeadership(clustertest.Context(c.t))
		if err != nil && !errors.Is(err, fault.ErrNotLeader) {
			c.t.Fatalf("node %d could not hand over: %v", before, err)
		}
		after = c.agreedLeader()
		return after != before
	})
	return after
}

// unhurried sets long timeouts, for tests in which only a transfer may change the leader: short
// ones cause elections on a busy machine. The first leader does not wait for a timeout.
func unhurried(cfg *Config) {
	cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 20*time.Second, 20*time.Second, 10*time.Second
}

// hears waits until node i has received from gossip that a condition holds for another node.
func (c *nodes) hears(i, other int, what string, holds func(discovery.Member) bool) {
	c.t.Helper()
	c.waitFor(what, func() bool {
		for _, m := range c.nodes[i].process.gossip.View() {
			if m.NodeID == c.nodes[other].process.nodeID && holds(m) {
				return true
			}
		}
		return false
	})
}

// A leader always hands over to the follower that can keep leadership, although the library would
// choose either of the two.
func TestHandoverChoosesWhoKeepsLeadership(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(c *nodes, d disks, i int)
		known func(discovery.Member) bool
	}{
		{"a full disk", func(c *nodes, d disks, i int) {
			d[i].Store(diskTotal / 50)
			c.submit(i, &queue.AdvanceClock{}) // a command lets the node check its disk
		}, func(m discovery.Member) bool { return membership.DiskLevel(m.Disk) == membership.DiskFull }},
		{"drained", func(c *nodes, _ disks, i int) {
			clustertest.Must(c.t, c.nodes[i].Drain(clustertest.Context(c.t)))
		}, func(m discovery.Member) bool { return m.Drained }},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, d := startOnDisks(t, unhurried)
			c.create(0, standard)
			spoiled := c.followers()[0]
			test.spoil(c, d, spoiled)
			for i := range c.nodes {
				if i != spoiled {
					c.hears(i, spoiled, "the others to hear of it", test.known)
				}
			}
			for range 4 {
				leader := c.leader()
				c.waitFor("a good successor to answer", func() bool {
					best := c.nodes[leader].members.Successors()[0]
					return best.Answers && best.Keeps()
				})
				if after := c.handOver(); after == spoiled {
					t.Fatalf("node %d leads, although it should not", after)
				}
			}
		})
	}
}

// A voter that is down is not asked to take over.
func TestHandoverPassesByWhoIsGone(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) { // as unhurried, but with a short time for missing answers
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 3*time.Second, 3*time.Second, 1500*time.Millisecond
	})
	c.create(0, standard)
	gone, left := c.followers()[0], c.followers()[1]
	c.crash(gone)
	leader := c.nodes[c.leader()]
	c.waitFor("its silence to be noticed", func() bool {
		s := leader.members.Successors()
		return len(s) == 2 && s[0].Answers && !s[1].Answers
	})
	if s := leader.members.Successors(); s[0].NodeID != c.nodes[left].process.nodeID || s[0].Lag > membership.LagMax {
		t.Fatalf("the successors are %+v", s)
	}
	if after := c.handOver(); after != left {
		t.Errorf("node %d leads", after)
	}
}

// A node that is unfit to lead but is elected hands over once it can.
func TestUnfitNodeThatIsElectedHandsOver(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t)
	c.create(0, standard)
	leader, full := c.leader(), c.followers()[0]
	d[full].Store(diskTotal / 50)
	c.submit(full, &queue.AdvanceClock{}) // a command lets the node check its disk
	c.waitFor("the node to see that its disk is full", func() bool { return c.nodes[full].pressure.diskLevel() == membership.DiskFull })
	unfit := c.nodes[full]
	terms := unfit.terms.Load()
	c.waitFor("it to be elected", func() bool {
		if err := c.nodes[leader].group.TransferTo(clustertest.Context(t), unfit.process.nodeID); err != nil {
			leader = c.leader() // an election on a busy machine may have changed it
		}
		return unfit.terms.Load() > terms
	})
	c.waitFor("another leader", func() bool { return c.leader() != full })
}

// answer reports whether both followers have answered the leader.
func answer(s []membership.Candidate) bool { return s[0].Answers && s[1].Answers }

// An operator who moves leadership to a node that would not keep it gets the reason.
func TestMoveLeadershipToAFullDisk(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t, unhurried)
	c.create(0, standard)
	full := c.followers()[0]
	d[full].Store(diskTotal / 50)
	c.submit(full, &queue.AdvanceClock{})
	c.hears(c.leader(), full, "the leader to hear of the full disk",
		func(m discovery.Member) bool { return membership.DiskLevel(m.Disk) == membership.DiskFull })
	leader := c.leader()
	c.waitFor("the follower to answer", func() bool { return answer(c.nodes[leader].members.Successors()) })
	err := c.nodes[leader].MoveLeadership(clustertest.Context(t), Change{Node: c.configs[full].NodeName})
	wantRefusal(t, err, RefusedUnsafe, "its disk is nearly full")
	if strings.Contains(err.Error(), "drained") || c.leader() != leader {
		t.Errorf("refused with %v, node %d leads", err, c.leader())
	}
}

func TestSuccessorOrder(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, unhurried)
	leader := c.nodes[c.leader()]
	c.waitFor("both followers to answer", func() bool {
		s := leader.members.Successors()
		return len(s) == 2 && answer(s) && s[0].Keeps() && s[1].Keeps() && s[0].Lag <= s[1].Lag
	})
	follower := c.nodes[c.followers()[0]]
	for _, s := range follower.members.Successors() {
		if s.Answers || s.NodeID == follower.process.nodeID {
			t.Errorf("a follower, which hears of nobody, has the successor %+v", s)
		}
	}
}
