package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// laterCommand makes an attempt, from one node, at a command that needs format version 2.
func (c *nodes) laterCommand(i int) leader.Verdict {
	c.t.Helper()
	n := c.nodes[i]
	frame, err := codec.AppendCommand(nil, &queue.AdvanceClock{})
	clustertest.Must(c.t, err)
	r := leader.Request{Frame: frame, MinimumVersion: 2}
	if leads := n.term.Load(); leads != nil {
		return leads.Submit(clustertest.Context(c.t), r).Verdict
	}
	known := n.group.Leadership()
	call := forward.Request{Request: r, Kind: forward.Submit, Term: known.Term, Budget: clustertest.Timeout}
	return n.link(known.LeaderID).Call(clustertest.Context(c.t), call).Verdict
}

// A cluster with programs of two versions works with the older format. No node can raise the format
// version before all members can read the newer one.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	const old = 2
	started := 0
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.Log.FormatMax = 2
		if started == old {
			cfg.Log.FormatMax = 1
		}
		started++
	})
	c.create(0, standard)
	held := func(missing string) {
		t.Helper()
		for i, n := range c.nodes {
			if n == nil {
				continue
			}
			var refusal *MembershipRefusal
			u, err := n.FinalizeUpgrade(clustertest.Context(t))
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Text, missing) {
				t.Errorf("node %d: finalize gave %v", i, err)
			}
			if u.Ready || u.FormatVersion != 1 || !strings.Contains(u.Missing, missing) {
				t.Errorf("node %d: %+v", i, u)
			}
			// A command that would raise the version without this check is refused, too.
			if _, err := n.Submit(clustertest.Context(t), &queue.SetFormatVersion{Version: 2}); !errors.Is(err, fault.ErrUnavailable) ||
				errors.Is(err, fault.ErrOutcomeUnknown) {
				t.Errorf("node %d: raising the version by hand gave %v", i, err)
			}
			if got := c.laterCommand(i); got != leader.Unsupported {
				t.Errorf("node %d: a command of the later format gave %v", i, got)
			}
			c.send(i, standard, "the old format goes on")
		}
	}
	c.waitFor("all to hear of each other", func() bool {
		for _, n := range c.nodes {
			if n.Upgrade().Possible != 1 {
				return false
			}
		}
		return true
	})
	held("an older program runs on n3")

	c.close(old)
	c.waitFor("the old node's end to be heard of", func() bool {
		return c.nodes[0].Upgrade().Possible == 0 && c.nodes[1].Upgrade().Possible == 0
	})
	held("nothing is heard of n3")

	c.configs[old].Log.FormatMax = 2
	c.open(old)
	c.waitReady(old)
	c.waitFor("all to be able", func() bool {
		for _, n := range c.nodes {
			if u := n.Upgrade(); !u.Ready || u.Possible != 2 || u.Missing != "" {
				return false
			}
		}
		return true
	})
	if got := c.laterCommand(0); got != leader.Unsupported {
		t.Errorf("a command of the later format before finalize gave %v", got)
	}
	follower := c.followers()[0]
	u, err := c.nodes[follower].FinalizeUpgrade(clustertest.Context(t))
	if err != nil {
		t.Fatalf("finalize: %v", err)
	}
	c.agree()
	for i, n := range c.nodes {
		if u = n.Upgrade(); u.FormatVersion != 2 || u.Ready {
			t.Errorf("node %d: %+v", i, u)
		}
		if got := c.laterCommand(i); got != leader.Answered {
			t.Errorf("node %d: a command of the later format gave %v", i, got)
		}
		if _, err := n.FinalizeUpgrade(clustertest.Context(t)); err != nil {
			t.Errorf("node %d: finalize again gave %v", i, err)
		}
	}
	// A node with an older program cannot join afterwards, not even with an empty disk.
	c.close(old)
	c.wipe(old)
	c.configs[old].Log.FormatMax = 1
	c.open(old)
	outsider := c.nodes[old]
	c.waitFor("the old program to be refused", func() bool {
		_, err := outsider.process.network.Dial(clustertest.Context(t), c.nodes[0].process.nodeID, peernet.KindMembership, 0)
		return errors.Is(err, peernet.ErrFormats)
	})
	if list := c.nodes[0].LocalMembers(clustertest.Context(t)); len(list.Members) != 3 || outsider.Ready() == nil {
		t.Errorf("the old program has joined: %+v", list.Members)
	}
	c.close(old) // it keeps trying
}
