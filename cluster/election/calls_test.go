package election

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A leader that answers questions but no calls of a majority hands over to a node that the others
// can call. The length of logs does not matter.
func TestLeaderThatAnswersNoCallsHandsOver(t *testing.T) {
	const leaderID = "e-5"
	for _, c := range []struct {
		name     string
		uncalled map[string][]string // by node: the nodes that it cannot call
		who      []string            // the nodes that find out, one after another
		goes     string              // the successor; empty: the leader stays
	}{
		{"of a majority", map[string][]string{"b-2": {leaderID}, "c-3": {leaderID}, "d-4": {leaderID}}, []string{"b-2"}, "b-2"},
		{"of too few", map[string][]string{"b-2": {leaderID}}, []string{"b-2"}, ""},
		{"of a majority, of which nobody can call the first", map[string][]string{
			"a-1": {leaderID}, "b-2": {leaderID, "a-1"}, "c-3": {leaderID, "a-1"}, "d-4": {leaderID, "a-1"},
		}, []string{"a-1", "c-3"}, "c-3"},
		{"of anybody, as nobody can call", map[string][]string{
			"a-1": {leaderID, "b-2", "c-3", "d-4"}, "b-2": {leaderID, "a-1", "c-3", "d-4"}, "c-3": {leaderID, "a-1", "b-2", "d-4"},
		}, []string{"a-1", "b-2", "c-3"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := clustertest.NewHandClock(0)
			voters := []string{"a-1", "b-2", "c-3", "d-4", leaderID}
			leader := &testNode{id: leaderID, leader: leaderID, leads: true, heard: voters}
			nodes, byID := []*testNode{leader}, map[string]*testNode{}
			for i, id := range voters[:4] {
				n := &testNode{id: id, leader: leaderID, uncalled: c.uncalled[id], clock: clock,
					last: LogPosition{Term: 5, Index: uint64(10 - i)}}
				nodes, byID[id] = append(nodes, n), n
			}
			openAll(t, voters, nodes...)
			ctx := clustertest.Context(t)
			for range unansweredMin {
				for _, n := range nodes[1:] {
					want := leaderAlive
					if len(n.uncalled) > 0 {
						want = leaderUnclear
					}
					if state := n.checkLeader(ctx); state != want {
						t.Fatalf("after %v the leader is in state %v at %s", clock.Monotonic(), state, n.id)
					}
				}
				clock.Pass(2 * testSilence / unansweredMin)
			}
			for _, id := range c.who {
				if state := byID[id].checkLeader(ctx); state != leaderUncalled {
					t.Fatalf("after a heartbeat timeout the leader is in state %v at %s", state, id)
				}
			}
			if c.goes != "" {
				if got := <-leader.transfers; got != c.goes {
					t.Errorf("it handed over to %s", got)
				}
			}
			if got := len(leader.transfers); got != 0 {
				t.Errorf("it handed over %d times too often", got)
			}
			for _, n := range nodes[1:] {
				if len(n.campaigns) != 0 {
					t.Errorf("%s campaigned", n.id)
				}
				n.uncalled = nil
				if state := n.checkLeader(ctx); state != leaderAlive {
					t.Errorf("when calls are answered the leader is in state %v at %s", state, n.id)
				}
			}
		})
	}
}

// A learner has no vote, but its clients may be the only ones that call. So it makes the voters
// check the leader when its calls have no answer.
func TestLearnerWithoutAnswersNotifiesTheVoters(t *testing.T) {
	clock := clustertest.NewHandClock(0)
	leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: []string{"b-2", "c-3"}}
	voter, other := &testNode{id: "b-2", leader: "a-1", clock: clock}, &testNode{id: "c-3", leader: "a-1", clock: clock}
	learner := &testNode{id: "d-4", leader: "a-1", clock: clock, uncalled: []string{"a-1"}}
	openAll(t, []string{"a-1", "b-2", "c-3"}, leader, voter, other, learner)
	ctx := clustertest.Context(t)
	for range unansweredMin {
		learner.checkLeader(ctx)
		clock.Pass(2 * testSilence / unansweredMin)
	}
	if state := learner.checkLeader(ctx); state != leaderUncalled {
		t.Fatalf("the leader is in state %v at the learner", state)
	}
	for _, n := range []*testNode{voter, other} {
		if len(n.suspected) == 0 {
			t.Errorf("%s does not check on the leader", n.id)
		}
	}
	if len(leader.transfers) != 0 {
		t.Error("the leader handed over")
	}
}
