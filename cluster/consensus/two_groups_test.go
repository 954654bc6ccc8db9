package consensus

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// holds reports which of the queues created by entries from up to to are in the state of every
// member.
func (g *groups) holds(from, to int) (all, none bool) {
	g.T.Helper()
	all, none = true, true
	for _, m := range g.All {
		m.machine.Read(func(v queue.View) {
			for at := from; at < to; at++ {
				_, refusal := v.Stats(fmt.Sprintf("q%d", at))
				all, none = all && refusal == nil, none && refusal != nil
			}
		})
	}
	return all, none
}

// leadElsewhere transfers leadership of g until another node leads it than leads the other group.
func (g *groups) leadElsewhere(other *groups) {
	g.T.Helper()
	ctx := clustertest.Context(g.T)
	for leader := g.Leader(); leader.node == other.Leader().node; leader = g.Leader() {
		if err := leader.group.TransferLeadership(ctx); err != nil && ctx.Err() != nil {
			g.T.Fatal(err)
		}
	}
}

// Two groups share three nodes with their data directories, networks and address books. Each group
// has its own leader, log and state.
func TestTwoGroupsInOneProcess(t *testing.T) {
	t.Parallel()
	clustertest.VerifyNoLeaks(t)
	clustertest.BothStores(t, func(t *testing.T, store string) {
		t.Parallel()
		nodes := newNodes(t, 3)
		change := func(_ int, options *Options) { options.Log.Store = store }
		a, b := newGroup(t, 0, nodes, change), newGroup(t, 1, nodes, change)
		startBoth := func() {
			a.startAll()
			b.startAll()
		}
		separate := func(aTo, bTo int) {
			t.Helper()
			if all, _ := a.holds(0, aTo); !all {
				t.Error("the first group lost entries")
			}
			if all, _ := b.holds(100, bTo); !all {
				t.Error("the second group lost entries")
			}
			_, noneInA := a.holds(100, bTo)
			_, noneInB := b.holds(0, aTo)
			if !noneInA || !noneInB {
				t.Error("an entry of one group was applied by the other")
			}
		}
		startBoth()
		b.leadElsewhere(a)
		a.Agree(a.Propose(0, 10))
		b.Agree(b.Propose(100, 120))
		separate(10, 120)

		// A node restarts.
		restarted := a.Leader().node
		restarted.stop()
		aLast, bLast := a.Propose(10, 15), b.Propose(120, 125)
		for _, g := range []*groups{a, b} {
			for _, m := range g.All {
				if m.node == restarted {
					g.start(m)
				}
			}
		}
		a.Agree(aLast)
		b.Agree(bLast)
		separate(15, 125)

		// One group restarts alone, the other continues.
		for _, m := range b.All {
			m.close()
		}
		a.Agree(a.Propose(200, 205))
		for _, m := range b.All {
			m.node.network.AddGroup(m.options.ID)
			m.open()
		}
		b.Agree(b.Propose(125, 130))
		separate(15, 130)

		// All nodes restart.
		for _, n := range nodes {
			n.stop()
		}
		startBoth()
		a.Agree(a.Propose(15, 20))
		b.Agree(b.Propose(130, 135))
		separate(20, 135)
		for _, n := range nodes {
			n.stop()
		}
	})
}
