package cluster

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// Turned off, the setting leaves what is in segments where it is.
func TestBodiesAfterTheSettingChanged(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, segmentsEverywhere)
	c.create(0, fifo)
	for part, store := range []string{BodiesInMemory, BodiesInSegments, BodiesInMemory} {
		c.sendBodies(0, part*20, part*20+20)
		c.snapshotAll()
		c.close(0)
		c.configs[0].Log.Bodies.Store = store
		c.open(0)
		c.waitReady(0)
	}
	c.takeBodies(0, 0, 60)
}

// restartWith restarts a node with another place for bodies.
func (c *nodes) restartWith(i int, store string) {
	c.t.Helper()
	c.close(i)
	c.configs[i].Log.Bodies.Store = store
	c.configs[i].Log.FormatMax = 3
	c.open(i)
	c.waitReady(i)
}

// The nodes of a cluster that is upgraded to the format in which snapshots refer to bodies
// have them in memory and in segments side by side, and change that one after the other:
// they have the same state all the time, and the same bodies in it.
func TestNodesWithBodiesHereAndThere(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Log.FormatMax = 2
	})
	c.create(0, fifo)
	sent := 0
	goesOn := func() {
		t.Helper()
		for through := range c.nodes {
			c.sendBodies(through, sent, sent+10)
			sent += 10
		}
		c.agree()
		c.snapshotAll()
	}
	goesOn()
	stored := func(want ...int64) {
		t.Helper()
		for i, n := range c.nodes {
			if got := n.process.bodies.Stats().Bodies; got != want[i] {
				t.Errorf("node %d has %d bodies in segments, want %d", i, got, want[i])
			}
		}
	}
	stored(0, 0, 0) // an older program could start with this
	for i, store := range []string{BodiesInSegments, BodiesInMemory, BodiesInSegments} {
		c.restartWith(i, store)
		goesOn()
	}
	stored(0, 0, 0)
	c.waitFor("all to be able", func() bool { return c.nodes[0].Upgrade().Ready })
	if _, err := c.nodes[0].FinalizeUpgrade(clustertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	before := int64(sent)
	goesOn()
	stored(30, 0, 30) // what was there before stays in memory until a restart
	c.restartWith(1, BodiesInSegments)
	c.restartWith(0, BodiesInMemory)
	goesOn()
	stored(30, before+60, 60)
	c.restartWith(2, BodiesInSegments)
	c.restartWith(0, BodiesInSegments)
	goesOn()
	stored(int64(sent), int64(sent), int64(sent))
	for through := range c.nodes {
		c.takeBodies(through, through*sent/3, (through+1)*sent/3)
	}
	c.agree()
}
