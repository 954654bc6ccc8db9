package cluster

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
)

// freedOnAll waits until every node has given bytes of deleted bodies back, without another
// command.
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

// drains fills a queue, has a snapshot refer to all bodies, and deletes them with one short
// command. It returns how many bytes of bodies that were.
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

// What is deleted while the disks are nearly full gives its space back: nobody may send, so
// that the log hardly grows.
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

// So does what is deleted of a backlog on any disk, although deletes are short.
func TestSpaceOfADrainedBacklogComesBack(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Snapshot.LogBytes = 1 << 20
	})
	c.freedOnAll(c.drains(func() {}) * 3 / 4)
}

// What was purged is not applied again by the next start, although much less was written
// than what causes a snapshot.
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
