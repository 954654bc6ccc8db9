package election

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A voter that knows no leader campaigns if a majority knows none.
func TestElectionWithoutLeader(t *testing.T) {
	cases := []struct {
		name      string
		other     testNode
		campaigns int
	}{
		{"nobody knows a leader", testNode{}, 1},
		{"the other follows one", testNode{leader: "c-3"}, 0},
		{"the other leads", testNode{leader: "b-2", leads: true}, 0},
		{"the other has a longer log", testNode{last: LogPosition{Term: 5, Index: 10}}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			node, other := &testNode{id: "a-1"}, &c.other
			other.id = "b-2"
			openAll(t, []string{"a-1", "b-2", "c-3"}, node, other) // the third is down
			ctx := clustertest.Context(t)
			state, pause := node.findLeader(ctx, leaderless{})
			if got := len(node.campaigns); got != c.campaigns {
				t.Errorf("%d campaigns, want %d", got, c.campaigns)
			}
			if !state.lasts || pause <= 0 {
				t.Errorf("it looks again after %v: %+v", pause, state)
			}
			node.findLeader(ctx, state)
			if got := len(node.campaigns); got != c.campaigns {
				t.Errorf("it campaigned again at once: %d", got)
			}
		})
	}
}

// A node that knows a leader, or has no vote, does not campaign.
func TestNobodyCampaignsWithoutNeed(t *testing.T) {
	follower, learner, other := &testNode{id: "a-1", leader: "b-2"}, &testNode{id: "l-4"}, &testNode{id: "b-2"}
	openAll(t, []string{"a-1", "b-2"}, follower, learner, other)
	for _, n := range []*testNode{follower, learner} {
		state, _ := n.findLeader(clustertest.Context(t), leaderless{lasts: true, campaign: 1})
		if n == follower && state.lasts {
			t.Error("the time without a leader goes on beside a leader")
		}
		if len(n.campaigns) != 0 {
			t.Errorf("node %s campaigns", n.id)
		}
	}
}
