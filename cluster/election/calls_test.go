package election

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A leader that answers questions and no calls of a majority is replaced; one that does
// not answer those of one node is not. A node that can call nobody does not replace it,
// and nobody waits for that node.
func TestLeaderThatAnswersNoCallsIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name        string
		node, other []string // whom the followers a-1 and b-2 cannot call
		campaigns   [2]int   // of them
	}{
		{"of a majority", []string{"c-3"}, []string{"c-3"}, [2]int{1, 0}},
		{"of one node", []string{"c-3"}, nil, [2]int{0, 0}},
		{"of a majority, and the first one calls nobody", []string{"b-2", "c-3"}, []string{"c-3"}, [2]int{0, 1}},
		{"of anybody, as nobody can call", []string{"b-2", "c-3"}, []string{"a-1", "c-3"}, [2]int{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := clustertest.NewHandClock(0)
			leader := &testNode{id: "c-3", leader: "c-3", leads: true}
			node := &testNode{id: "a-1", leader: "c-3", uncalled: c.node, clock: clock}
			other := &testNode{id: "b-2", leader: "c-3", uncalled: c.other, clock: clock}
			openAll(t, []string{"a-1", "b-2", "c-3"}, leader, node, other)
			ctx := clustertest.Context(t)
			for range unansweredMin {
				if state := node.checkLeader(ctx); state != leaderUnclear {
					t.Fatalf("after %v the leader is in state %v", clock.Monotonic(), state)
				}
				other.checkLeader(ctx)
				clock.Pass(2 * testSilence / unansweredMin)
			}
			if state := node.checkLeader(ctx); state != leaderUncalled {
				t.Fatalf("after a heartbeat timeout the leader is in state %v", state)
			}
			other.checkLeader(ctx)
			if got := [2]int{len(node.campaigns), len(other.campaigns)}; got != c.campaigns {
				t.Errorf("%v campaigns, want %v", got, c.campaigns)
			}
			node.uncalled = nil
			if state := node.checkLeader(ctx); state != leaderAlive || node.calls.unfit.Load() {
				t.Errorf("when calls are answered the leader is in state %v, and the node unfit: %v", state, node.calls.unfit.Load())
			}
		})
	}
}
