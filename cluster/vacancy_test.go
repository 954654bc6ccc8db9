package cluster

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// After all nodes were down there is a leader without waiting for a timeout.
func TestAllNodesDownElectAtOnce(t *testing.T) {
	c := patientNodes(t)
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

// Two of three are enough, and the one whose log is behind does not stand.
func TestTwoNodesElectWithoutTheThird(t *testing.T) {
	c := patientNodes(t)
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

// Nobody stands while one of the others leads, or knows who does.
func TestNobodyStandsBesideALeader(t *testing.T) {
	c := patientNodes(t)
	c.create(0, fifo)
	leader := c.leader()
	before := c.nodes[leader].group.Leadership()
	for _, i := range c.followers() {
		s := *c.nodes[i].group.suspicion
		s.leadership = func() Leadership { return Leadership{Term: before.Term} }
		if s.chosen(clustertest.Context(t), doubtQuestion{Vacant: true}) {
			t.Errorf("node %d would stand beside a leader", i)
		}
	}
	c.agree()
	if now := c.nodes[leader].group.Leadership(); now != before {
		t.Errorf("the leadership %+v became %+v", before, now)
	}
}
