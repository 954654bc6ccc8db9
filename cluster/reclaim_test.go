package cluster

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
)

// freedOnAll waits until every node has freed this many bytes of deleted bodies. It submits no
// commands.
func (c *nodes) freedOnAll(bytes int64) {
	c.t.Helper()
	c.waitFor("the space of deleted bodies to come back", func() bool {
		for _, n := range c.nodes {
			if n.process.bodies.Stats().FreedBytes < bytes {
				return false
			}
		}
		return true
	})
}

// drains fills a queue, takes a snapshot of all bodies, and deletes them with one short command. It
// returns their size.
func (c *nodes) drains(between func()) int64 {
	c.t.Helper()
	c.create(0, fifo)
	const messages = 500
	c.sendBodies(0, 0, messages)
	c.agree()
	c.snapshotAll()
	between()
	c.submit(0, &queue.PurgeQueue{Queue: fifo})
	return int64(messages * len(bodyOf(0)))
}

// Bodies that are deleted while the disks are nearly full free their space, although sends are
// refused and the log hardly grows.
func TestSpaceIsReclaimedOnFullDisks(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t, segmentsEverywhere)
	bytes := c.drains(func() {
		for i := range d {
			d[i].Store(diskTotal / 10)
		}
		c.waitFor("sends to be refused", func() bool { return c.refusing(0, fifo, "more") })
	})
	c.freedOnAll(bytes * 3 / 4)
}

// Bodies of a deleted backlog free their space also if the deletes add little to the log.
func TestSpaceOfADrainedBacklogComesBack(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Snapshot.LogBytes = 1 << 20
	})
	c.freedOnAll(c.drains(func() {}) * 3 / 4)
}

// Purged messages are not replayed at the next start, although less was written since than the
// policy asks of a snapshot.
func TestPurgedLogIsNotReplayed(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, func(cfg *Config) { cfg.Snapshot.LogBytes = 4 << 20 })
	c.create(0, standard)
	body := strings.Repeat("b", 2<<10)
	const messages = 400
	for range messages {
		c.send(0, standard, body)
	}
	if taken := c.nodes[0].group.Stats().SnapshotsTaken; taken != 0 {
		t.Fatalf("%d snapshots were taken of what is alive", taken)
	}
	purged := c.submit(0, &queue.PurgeQueue{Queue: standard}).Index
	c.waitFor("a snapshot behind the purge", func() bool { return c.nodes[0].group.Stats().LastSnapshotIndex >= purged })
	c.close(0)
	s := openStopped(t, c.configs[0].DataDir)
	defer mustClose(t, s)
	if got, err := s.State(0); err != nil || got.Replayed >= messages/10 {
		t.Errorf("a start applies %+v, %v", got, err)
	}
}
