package cluster

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// TestWhoMakesWay asks a leader to hand over because of a voter that it hears or
// does not hear. What really cuts lines is in test/cluster/partition.
func TestWhoMakesWay(t *testing.T) {
	c := patientNodes(t)
	c.create(0, fifo)
	leader, followers := c.leader(), c.followers()
	successor, stranded := c.idOf(followers[0]), c.idOf(followers[1])
	question := doubtQuestion{Leader: c.idOf(leader), Stranded: stranded, Successor: successor}
	cases := []struct {
		name    string
		heard   []string
		mayLead bool
		goes    bool
	}{
		{"it hears both", []string{successor, stranded}, true, false},
		{"it hears neither", nil, true, false},
		{"it hears the stranded one only", []string{stranded}, true, false},
		{"the successor should not lead", []string{successor}, false, false},
		{"it hears the successor only", []string{successor}, true, true},
	}
	for _, test := range cases {
		s := *c.nodes[leader].group.suspicion
		s.heard = func() []string { return test.heard }
		s.mayLead = func(string) bool { return test.mayLead }
		before := c.nodes[leader].group.Leadership()
		s.makeWay(clustertest.Context(t), question)
		if !test.goes {
			if now := c.nodes[leader].group.Leadership(); now != before {
				t.Errorf("%s: the leadership %+v became %+v", test.name, before, now)
			}
			continue
		}
		c.waitFor("the successor to lead", func() bool { return c.nodes[followers[0]].group.Leadership().Self })
	}
	c.send(0, fifo, "m")
	c.agree()
}

// TestNobodyHelpsAVoterThatIsHeard asks a follower for help although the leader
// hears everybody, as after a short break.
func TestNobodyHelpsAVoterThatIsHeard(t *testing.T) {
	c := patientNodes(t)
	c.create(0, fifo)
	c.send(0, fifo, "m") // so that the leader has heard from both
	followers := c.followers()
	before := c.nodes[0].group.Leadership()
	s := c.nodes[followers[0]].group.suspicion
	leader := c.nodes[c.leader()].group
	c.waitFor("the leader to hear both", func() bool { return len(leader.heardVoters()) == 2 })
	s.help(clustertest.Context(t), c.idOf(followers[1]))
	if !s.reaches(clustertest.Context(t), leader.heardVoters()) {
		t.Error("a follower does not reach the others")
	}
	if s.reaches(clustertest.Context(t), []string{"gone-12345678"}) {
		t.Error("a follower reaches a node that is not there")
	}
	c.agree()
	if now := c.nodes[0].group.Leadership(); now != before {
		t.Errorf("the leadership %+v became %+v", before, now)
	}
}
