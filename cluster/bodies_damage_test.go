package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// segmentFiles returns the segments of a node, the oldest first.
func (c *nodes) segmentFiles(i int) []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.configs[i].DataDir, storage.GroupDirName(0), storage.BodiesName, "*"))
	if err != nil || len(files) < 3 {
		c.t.Fatal(files, err)
	}
	return files
}

// damagedCluster returns a cluster with 140 messages in segments. The bodies in the first segments
// are no longer in memory.
func damagedCluster(t *testing.T, change func(*Config)) (*nodes, []*clustertest.FatalRecord) {
	records := make([]*clustertest.FatalRecord, 3)
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		record := clustertest.NewFatalRecord()
		records[cfg.NodeName[1]-'1'] = record
		cfg.Fatal = record.Fatal
		change(cfg)
	})
	c.create(0, fifo)
	c.sendBodies(0, 0, 100)
	c.agree()
	c.snapshotAll()
	c.sendBodies(0, 100, 140)
	c.agree()
	c.snapshotAll()
	return c, records
}

func noScrub(*Config) {}

func expectNoEnd(t *testing.T, records []*clustertest.FatalRecord) {
	t.Helper()
	for i, record := range records {
		if codes, errs := record.All(); len(codes) > 0 {
			t.Errorf("node %d ended: %v, %v", i, codes, errs)
		}
	}
}

// A reader of a damaged body waits until the body is healed, also if another node forwards the
// request to the leader.
func TestDamagedBodiesAreHealedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]int{"at the leader": 0, "through another node": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, records := damagedCluster(t, noScrub)
			leader := c.agreedLeader()
			files := c.segmentFiles(leader)
			for _, file := range files[:2] {
				for at := int64(1000); at < 60_000; at += 10_000 {
					clustertest.FlipBit(t, file, at)
				}
			}
			c.takeBodies((leader+through)%3, 0, 140)
			if stats := c.nodes[leader].process.bodies.Stats(); stats.Healed < 2 || stats.Healed > stats.Damaged {
				t.Errorf("%+v", stats)
			}
			expectNoEnd(t, records)
		})
	}
}

// Damage is found without a reader, too. A body that is damaged once is healed with its old
// content.
func TestDamagedBodiesAreHealedAsTheyAreChecked(t *testing.T) {
	t.Parallel()
	c, records := damagedCluster(t, func(cfg *Config) {
		cfg.Log.Bodies.Scrub = ScrubPolicy{BytesPerSecond: 16 << 20, Interval: 20 * time.Millisecond}
	})
	for i := range c.nodes {
		clustertest.FlipBit(t, c.segmentFiles(i)[i], 1000+10_000*int64(i))
	}
	c.waitFor("all nodes to be healed", func() bool {
		for _, n := range c.nodes {
			if stats := n.process.bodies.Stats(); stats.Healed != 1 || stats.DiskReads > 1 {
				return false
			}
		}
		return true
	})
	c.takeBodies(0, 0, 140)
	for i := range c.nodes {
		if stats := c.nodes[i].process.bodies.Stats(); stats.Healed != 1 || stats.Damaged != 1 || stats.Checked == 0 {
			t.Errorf("node %d: %+v", i, stats)
		}
	}
	expectNoEnd(t, records)
}

// A body that is damaged on every node is not delivered, and the node that was to deliver it ends.
func TestBodyDamagedEverywhereEndsTheNode(t *testing.T) {
	t.Parallel()
	c, records := damagedCluster(t, noScrub)
	for i := range c.nodes {
		clustertest.FlipBit(t, c.segmentFiles(i)[0], 1000)
	}
	leader := c.agreedLeader()
	_, err := c.nodes[leader].Receive(clustertest.Context(t),
		&queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1), VisibilityTimeout: queue.Some(1)}, 0)
	if err == nil {
		t.Fatal("a damaged body was handed out")
	}
	<-records[leader].Ended
	c.crash(leader)
	if codes, errs := records[leader].All(); codes[0] != fault.ExitChecksum ||
		!strings.Contains(errs[0].Error(), c.segmentFiles(leader)[0]) {
		t.Errorf("%v, %v", codes, errs)
	}
	for i, record := range records {
		if codes, _ := record.All(); i != leader && len(codes) > 0 {
			t.Errorf("node %d ended, too, which nobody asked for the message", i)
		}
	}
}

// The snapshot refers to a damaged body whose message is deleted, so no node heals it. A node that
// is to install this snapshot gets the next one instead, and keeps no space for what it received
// before.
func TestDamagedBodyOfTheSnapshotAlone(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, segmentsEverywhere)
	leader := c.agreedLeader()
	away := (leader + 1) % 3
	c.create(leader, fifo)
	c.sendBodies(leader, 0, 200)
	c.agree()
	c.snapshotAll()
	c.crash(away)
	c.sendBodies(leader, 200, 240)
	c.snapshotBut(away)
	c.takeBodies(leader, 0, 230)
	for i := range c.nodes {
		if i != away {
			for at := int64(1000); at < 60_000; at += 3000 {
				clustertest.FlipBit(t, c.segmentFiles(i)[11], at) // of bodies 209 to 227
			}
		}
	}
	c.open(away)
	c.waitReady(away)
	c.agree()
	c.takeBodies(away, 230, 240)
}

// A single node that reads a damaged body ends: no other node has the body.
func TestDamagedBodyEndsTheNode(t *testing.T) {
	t.Parallel()
	record := clustertest.NewFatalRecord()
	c := startNodes(t, 1, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Fatal = record.Fatal
	})
	c.create(0, fifo)
	c.sendBodies(0, 0, 100)
	c.snapshotAll()
	c.sendBodies(0, 100, 140) // the bodies of the damaged file are no longer in memory
	segment := c.segmentFiles(0)[0]
	clustertest.FlipBit(t, segment, 1000)
	_, err := c.nodes[0].Receive(clustertest.Context(t),
		&queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1), VisibilityTimeout: queue.Some(1)}, 0)
	if err == nil {
		t.Fatal("a damaged body was handed out")
	}
	<-record.Ended
	c.crash(0)
	if codes, errs := record.All(); codes[0] != fault.ExitChecksum || !strings.Contains(errs[0].Error(), segment) {
		t.Errorf("%v, %v", codes, errs)
	}
}
