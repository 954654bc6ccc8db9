package election

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// TestWhoHandsOver asks a leader to hand over because of a voter that it hears or
// does not hear. What really cuts links is in test/cluster/partition.
func TestWhoHandsOver(t *testing.T) {
	const successor, isolated = "b-2", "c-3"
	cases := []struct {
		name  string
		heard []string
		unfit bool
		goes  bool
	}{
		{"it hears both", []string{successor, isolated}, false, false},
		{"it hears neither", nil, false, false},
		{"it hears the isolated one only", []string{isolated}, false, false},
		{"the successor should not lead", []string{successor}, true, false},
		{"it hears the successor only", []string{successor}, false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: c.heard, unfit: c.unfit}
			openAll(t, []string{"a-1", successor, isolated}, leader)
			leader.handOver(clustertest.Context(t), question{Leader: "a-1", Isolated: isolated, Successor: successor})
			if got := len(leader.transfers) == 1; got != c.goes {
				t.Errorf("the leader hands over: %v", got)
			}
		})
	}
}

// An isolated voter asks for help, a voter that hears the leader offers to lead, and
// the leader hands over to it.
func TestIsolatedVoterIsHelped(t *testing.T) {
	leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: []string{"a-1", "b-2"}}
	follower, isolated := &testNode{id: "b-2", leader: "a-1"}, &testNode{id: "c-3"}
	openAll(t, []string{"a-1", "b-2", "c-3"}, leader, follower, isolated)
	isolated.askForHelp(clustertest.Context(t))
	select {
	case successor := <-leader.transfers:
		if successor != "b-2" {
			t.Errorf("the leader handed over to %s", successor)
		}
	case <-clustertest.Context(t).Done():
		t.Error("the leader did not hand over")
	}
}

// A voter offers to lead only if that helps: not for a voter that the leader hears, as
// after a short break, and not without reaching all whom the leader reaches.
func TestWhoOffersToLead(t *testing.T) {
	cases := []struct {
		name   string
		heard  []string
		offers bool
	}{
		{"the leader hears the voter", []string{"b-2", "c-3"}, false},
		{"the leader hears a fourth, alone", []string{"b-2", "gone-4"}, false},
		{"the leader does not hear the voter", []string{"b-2"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: c.heard}
			follower, voter := &testNode{id: "b-2", leader: "a-1"}, &testNode{id: "c-3"}
			openAll(t, []string{"a-1", "b-2", "c-3", "gone-4"}, leader, follower, voter)
			if got := follower.shouldOffer(clustertest.Context(t), follower.consensus.Leadership(), "c-3"); got != c.offers {
				t.Errorf("the follower offers to lead: %v", got)
			}
		})
	}
}

// A voter at the end of a slow line hears no leader, whoever it is: a node that took
// over for its sake does not hand over for its sake again, and is not offered to.
func TestLeadershipDoesNotFollowASlowLine(t *testing.T) {
	first := &testNode{id: "a-1", leads: true, leader: "a-1", heard: []string{"a-1", "b-2"}}
	second, slow := &testNode{id: "b-2", leader: "a-1"}, &testNode{id: "c-3"}
	openAll(t, []string{"a-1", "b-2", "c-3"}, first, second, slow)
	ctx := clustertest.Context(t)
	second.offerToLead(ctx, "c-3")
	select {
	case <-first.transfers:
	case <-ctx.Done():
		t.Fatal("the first leader did not hand over")
	}
	first.leads, first.leader, first.term = false, "b-2", 6
	second.leads, second.leader, second.term, second.heard = true, "b-2", 6, []string{"a-1", "b-2"}
	if first.shouldOffer(ctx, first.consensus.Leadership(), "c-3") {
		t.Error("it offers to lead although the leader said that it stays")
	}
	second.handOver(ctx, question{Leader: "b-2", Term: 6, Isolated: "c-3", Successor: "a-1"})
	if len(second.transfers) > 0 {
		t.Error("leadership goes back and forth")
	}
	second.heard = []string{"b-2", "c-3"}
	second.handOver(ctx, question{Leader: "b-2", Term: 6, Isolated: "a-1", Successor: "c-3"})
	if len(second.transfers) == 0 {
		t.Error("it does not hand over for the sake of another voter")
	}
}
