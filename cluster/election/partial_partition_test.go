package election

import (
	"net"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A leader hands over depending on its contact with the isolated voter. test/cluster/partition cuts
// real links.
func TestWhoHandsOver(t *testing.T) {
	const successor, isolated = "b-2", "c-3"
	cases := []struct {
		name    string
		heard   []string
		answers bool // the isolated voter answers the leader
		unfit   bool
		goes    bool
	}{
		{"it hears both", []string{successor, isolated}, true, false, false},
		{"it hears neither", nil, false, false, false},
		{"it hears the isolated one only", []string{isolated}, true, false, false},
		{"the successor should not lead", []string{successor}, false, true, false},
		{"it hears the successor only", []string{successor}, false, false, true},
		{"it hears the successor only, until now", []string{successor}, true, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: c.heard, unfit: c.unfit}
			nodes := []*testNode{leader}
			if c.answers {
				nodes = append(nodes, &testNode{id: isolated})
			}
			openAll(t, []string{"a-1", successor, isolated}, nodes...)
			leader.handOver(clustertest.Context(t), question{Leader: "a-1", Isolated: isolated, Successor: successor})
			if got := len(leader.transfers) == 1; got != c.goes {
				t.Errorf("the leader hands over: %v", got)
			}
		})
	}
}

// An isolated voter asks for help, a voter with contact to the leader offers to lead, and the
// leader hands over.
func TestIsolatedVoterIsHelped(t *testing.T) {
	leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: []string{"a-1", "b-2"}}
	follower, isolated := &testNode{id: "b-2", leader: "a-1"}, &testNode{id: "c-3"}
	books := openAll(t, []string{"a-1", "b-2", "c-3"}, leader, follower, isolated)
	books[0].Note("c-3", nowhere(t), 2)
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

// A voter offers to lead only if that helps: not if the leader reaches the voter again, not if the
// offering node reaches it no better, and only if that node reaches all nodes that the leader
// reaches.
func TestWhoOffersToLead(t *testing.T) {
	cases := []struct {
		name   string
		heard  []string
		line   line // link to the voter
		offers bool
	}{
		{"the leader hears the voter", []string{"b-2", "c-3"}, soundLine, false},
		{"the leader hears a fourth, alone", []string{"b-2", "gone-4"}, soundLine, false},
		{"the leader does not hear the voter", []string{"b-2"}, soundLine, true},
		{"the voter's own line loses packets", []string{"b-2"}, lossyLine, false},
		{"the voter's own line is slow", []string{"b-2"}, slowLine, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: c.heard}
			follower, voter := &testNode{id: "b-2", leader: "a-1"}, &testNode{id: "c-3", line: c.line}
			openAll(t, []string{"a-1", "b-2", "c-3", "gone-4"}, leader, follower, voter)
			if got := follower.shouldOffer(clustertest.Context(t), follower.consensus.Leadership(), "c-3"); got != c.offers {
				t.Errorf("the follower offers to lead: %v", got)
			}
		})
	}
}

// nowhere returns an address without a listener.
func nowhere(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
