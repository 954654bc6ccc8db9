package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/queue"
)

// slowNodes are nodes whose consensus library would wait for minutes before an election.
func slowNodes(t *testing.T) *nodes {
	return startNodes(t, 3, func(cfg *Config) {
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 5*time.Minute, 5*time.Minute, time.Minute
		cfg.Timing.Commit = 10 * time.Millisecond
	})
}

// The node that starts a cluster does not wait for a timeout, and neither does a follower whose
// leader's process has died.
func TestDeadLeaderIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	for range 2 {
		dead := c.leader()
		c.crash(dead)
		other := (dead + 1) % 3
		c.waitFor("another leader", func() bool {
			// A node that is closed in this process may still say that it leads
			// when its connections break; one that is killed cannot.
			for _, i := range []int{other, (dead + 2) % 3} {
				c.nodes[i].process.detector.Notify()
			}
			leader := c.nodes[other].group.Leadership()
			return leader.LeaderID != "" && leader.LeaderID != c.idOf(dead)
		})
		c.send(other, fifo, "m")
		c.open(dead)
		c.waitReady(dead)
	}
	c.agree()
}

// After all nodes were down, a leader is elected without waiting for a timeout.
func TestAllNodesDownElectAtOnce(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	for range 2 {
		c.send(0, fifo, "m")
		for i := range c.nodes {
			c.crash(i)
		}
		for i := range c.nodes {
			c.open(i)
		}
		for i := range c.nodes {
			c.waitReady(i)
		}
	}
	c.agree()
}

// Two of three nodes elect a leader, and the one with the shorter log is not a candidate.
func TestTwoNodesElectWithoutTheThird(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	behind := c.followers()[0]
	c.crash(behind)
	ahead := c.leader()
	c.send(ahead, fifo, "m")
	for i, n := range c.nodes {
		if n != nil {
			c.crash(i)
		}
	}
	c.open(behind)
	c.open(ahead)
	c.waitReady(behind)
	if !c.nodes[ahead].group.Leadership().Self {
		t.Error("the node with the longer log does not lead")
	}
}

// A working leader stays although connections break and its followers check it. Package election
// tests what they find.
func TestLivingLeaderStays(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	before := c.nodes[0].group.Leadership()
	for _, i := range c.followers() {
		c.nodes[i].process.network.Disconnect()
		c.nodes[i].process.detector.Notify()
		c.send(i, fifo, "m")
	}
	c.agree()
	for i, n := range c.nodes {
		if now := n.group.Leadership(); now.Term != before.Term || now.LeaderID != before.LeaderID {
			t.Errorf("node %d follows %s in term %d, before it was %s in %d", i, now.LeaderID, now.Term, before.LeaderID, before.Term)
		}
	}
}

// A leader hears its voters, and gossip does not mark them as unfit to lead. Package election tests
// what the failure detector does with this.
func TestLeaderHearsItsVoters(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	leader := c.nodes[c.leader()]
	view := leader.process.electionView(leader.group)
	c.waitFor("the leader to hear both", func() bool { return len(view.HeardVoters()) == 2 })
	for _, voter := range view.HeardVoters() {
		c.waitFor("gossip to tell of "+voter, func() bool { return view.MayLead(voter) })
	}
	if view.MayLead("gone-12345678") {
		t.Error("a node that is not there may lead")
	}
	successor := c.followers()[0]
	clustertest.Must(t, view.Transfer(clustertest.Context(t), c.idOf(successor)))
	c.waitFor("the successor to lead", func() bool { return c.nodes[successor].group.Leadership().Self })
	c.send(0, fifo, "m")
	c.agree()
}

// A leader that hands over first answers the requests that it has in flight.
func TestHandOverWaitsForEntriesInFlight(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, fifo)
	leader := c.nodes[c.leader()]
	view := leader.process.electionView(leader.group)
	successor := c.followers()[0]
	release, err := leader.term.Load().Hold(clustertest.Context(t)) // as an entry in flight does
	clustertest.Must(t, err)
	ctx, cancel := context.WithTimeout(clustertest.Context(t), 100*time.Millisecond)
	defer cancel()
	if err := view.Transfer(ctx, c.idOf(successor)); err == nil {
		t.Error("leadership went while an entry was in flight")
	}
	release()
	clustertest.Must(t, view.Transfer(clustertest.Context(t), c.idOf(successor)))
	c.waitFor("the successor to lead", func() bool { return c.nodes[successor].group.Leadership().Self })
}

// idOf is the id of a node that may be stopped.
func (c *nodes) idOf(i int) string {
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		for _, m := range n.group.Stats().Members {
			if m.Name == c.configs[i].NodeName {
				return m.NodeID
			}
		}
	}
	return ""
}

// Followers learn of committed entries at once although the library would wait for minutes, also if
// no later read causes messages.
func TestCommitsAreAnnouncedWithoutDelay(t *testing.T) {
	t.Parallel()
	c := slowNodes(t)
	c.create(0, standard)
	for range 3 {
		c.send(0, standard, "m")
		at := c.nodes[c.leader()].group.CommitIndex()
		for _, i := range c.followers() {
			c.waitFor("a follower to apply", func() bool { return c.nodes[i].replica.AppliedIndex() >= at })
			position, err := c.nodes[i].Read(clustertest.Context(t), func(queue.View) error { return nil })
			if err != nil || position.Index < at {
				t.Errorf("read at %d, %v", position.Index, err)
			}
		}
	}
}

// openNetworkOnly opens those parts of a stopped node that run while it still reads its log.
func (c *nodes) openNetworkOnly(i int) *process {
	c.t.Helper()
	p, err := openProcess(c.t.Context(), c.configs[i].WithDefaults())
	clustertest.Must(c.t, err)
	return p
}

// A leader that is killed and restarted at once does not lead. It tells the others while it still
// reads its log, so that they replace it without waiting for a timeout.
func TestStartingNodeIsReplacedAsLeader(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.PeerAddr = freeAddress(t) // the same before and after
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 5*time.Minute, 5*time.Minute, time.Minute
		cfg.Timing.Dial = 5 * time.Minute
	})
	c.create(0, fifo)
	dead := c.leader()
	before := c.nodes[dead].group.Leadership()
	others := c.followers()
	c.crash(dead)
	starting := c.openNetworkOnly(dead)
	closeStarting := sync.OnceFunc(func() {
		clustertest.Check(t, errors.Join(starting.disconnect(), starting.close()))
	})
	defer closeStarting()
	network := c.nodes[others[0]].process.network
	ask := func(question map[string]any) (answer struct{ Leads bool }, err error) {
		return peernet.Ask[struct{ Leads bool }](clustertest.Context(t), network, before.LeaderID, peernet.KindFailureDetector, thisGroup,
			question)
	}
	if answer, err := ask(map[string]any{"leader": before.LeaderID, "term": before.Term}); err != nil || answer.Leads {
		t.Errorf("the starting node says %+v, %v", answer, err)
	}
	if answer, err := ask(map[string]any{"vacant": true}); err == nil {
		t.Errorf("whether there is a leader a starting node answers with %+v", answer)
	}
	if _, err := network.Dial(clustertest.Context(t), before.LeaderID, peernet.KindConsensus, thisGroup); !errors.Is(err,
		peernet.ErrRefused) {
		t.Errorf("consensus with a starting node: %v", err)
	}
	for _, i := range others {
		c.nodes[i].process.detector.Notify()
	}
	c.waitFor("another leader", func() bool {
		now := c.nodes[others[0]].group.Leadership()
		return now.LeaderID != "" && now.LeaderID != before.LeaderID
	})
	c.send(others[0], fifo, "m")
	closeStarting()
	c.open(dead)
	c.waitReady(dead)
	c.agree()
}
