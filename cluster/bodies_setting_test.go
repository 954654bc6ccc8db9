package cluster

import "testing"

// After segments are turned off, existing segments remain in use.
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

// restartWith restarts a node with another store for bodies.
func (c *nodes) restartWith(i int, store string) {
	c.t.Helper()
	c.close(i)
	c.configs[i].Log.Bodies.Store = store
	c.open(i)
	c.waitReady(i)
}

// Nodes with bodies in memory and nodes with bodies in segments have the same state, also while
// their setting is changed one after the other.
func TestNodesWithDifferentBodyStores(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Log.Bodies.Store = BodiesInMemory
	})
	c.create(0, fifo)
	sent := 0
	sendAll := func() {
		t.Helper()
		for through := range c.nodes {
			c.sendBodies(through, sent, sent+10)
			sent += 10
		}
		c.agree()
		c.snapshotAll()
	}
	stored := func(want ...int) {
		t.Helper()
		for i, n := range c.nodes {
			if got := n.process.bodies.Stats().Bodies; got != int64(want[i]) {
				t.Errorf("node %d has %d bodies in segments, want %d", i, got, want[i])
			}
		}
	}
	sendAll()
	stored(0, 0, 0)
	c.restartWith(0, BodiesInSegments)
	sendAll()
	stored(sent, 0, 0)
	before := sent
	c.restartWith(0, BodiesInMemory)
	c.restartWith(2, BodiesInSegments)
	sendAll()
	stored(before, 0, sent)
	c.restartWith(0, BodiesInSegments)
	c.restartWith(1, BodiesInSegments)
	sendAll()
	stored(sent, sent, sent)
	for through := range c.nodes {
		c.takeBodies(through, through*sent/3, (through+1)*sent/3)
	}
	c.agree()
}
