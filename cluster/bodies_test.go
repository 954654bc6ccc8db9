package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// bodyOf returns a body of 3 KiB that no other message has.
func bodyOf(number int) string {
	return strings.Repeat(fmt.Sprintf("body %06d, ", number), 256)
}

func (c *nodes) sendBodies(through, from, to int) {
	c.t.Helper()
	for first := from; first < to; first += 10 {
		cmd := &queue.SendMessages{Queue: fifo, Batch: true}
		for number := first; number < min(first+10, to); number++ {
			cmd.Entries = append(cmd.Entries, entryFor(fifo, bodyOf(number)))
			cmd.Entries[number-first].DeduplicationID = fmt.Sprint(number)
		}
		c.submit(through, cmd)
	}
}

// takeBodies receives and deletes messages and compares each body.
func (c *nodes) takeBodies(through, from, to int) {
	c.t.Helper()
	for next := from; next < to; {
		got := c.receive(through, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(600)}, 0)
		if len(got) == 0 {
			c.t.Fatalf("node %d: nothing was received at message %d of %d", through, next, to)
		}
		del := &queue.DeleteMessages{Queue: fifo, Batch: true}
		for i := range got {
			if got[i].Body.String() != bodyOf(next) {
				c.t.Fatalf("node %d: message %d has the body %.20q...", through, next, got[i].Body.String())
			}
			del.Handles = append(del.Handles, got[i].Handle.String())
			next++
		}
		c.submit(through, del)
	}
}

// segmentsEverywhere configures segments for all bodies, which are then read from disk.
func segmentsEverywhere(cfg *Config) {
	smallTrail(cfg)
	cfg.Log.Bodies = BodyPolicy{Store: BodiesInSegments, KeepMin: 1, CacheBytes: 1, SegmentBytes: 64 << 10}
}

func (c *nodes) snapshotAll() {
	c.t.Helper()
	c.snapshotBut(-1)
}

// snapshotBut has all nodes but one write a snapshot.
func (c *nodes) snapshotBut(away int) {
	c.t.Helper()
	for i, n := range c.nodes {
		if i == away {
			continue
		}
		clustertest.Must(c.t, n.group.Snapshot(clustertest.Context(c.t)))
	}
}

// A snapshot refers to bodies, and a restart reads none.
func TestBodiesStayInSegmentsOverRestarts(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, segmentsEverywhere)
	c.create(0, fifo)
	c.sendBodies(0, 0, 200)
	c.agree()
	c.snapshotAll()
	for _, n := range c.nodes {
		states, err := filepath.Glob(filepath.Join(n.cfg.DataDir, storage.GroupDirName(0), storage.SnapshotsDir, "*",
			storage.SnapshotStateName))
		if err != nil || len(states) == 0 {
			t.Fatal(states, err)
		}
		info, err := os.Stat(states[len(states)-1])
		if err != nil || info.Size() > 200*200 {
			t.Errorf("a snapshot of 200 messages has %v bytes, %v", info.Size(), err)
		}
	}
	c.sendBodies(0, 200, 220) // behind the snapshot
	for i := range c.nodes {
		c.crash(i)
	}
	for i := range c.nodes {
		c.open(i)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.agree()
	for i := range c.nodes {
		if stats := c.nodes[i].process.bodies.Stats(); stats.Bodies != 220 || stats.DiskReads != 0 {
			t.Errorf("node %d after the restart: %+v", i, stats)
		}
	}
	for i := range c.nodes { // each node answers for its own bodies
		c.takeBodies(i, i*70, (i+1)*70)
	}
	c.agree()
	c.snapshotAll()
	c.sendBodies(0, 220, 221)
	c.snapshotAll()
	c.waitFor("the space of deleted bodies to come back", func() bool {
		for _, n := range c.nodes {
			if n.process.bodies.Stats().FreedBytes < 150*3000 {
				return false
			}
		}
		return true
	})
	c.takeBodies(1, 210, 221)
}

// A node that was away gets bodies from the segments of the leader, whichever store it uses itself.
func TestBodiesAreInstalled(t *testing.T) {
	t.Parallel()
	for _, store := range []string{BodiesInSegments, BodiesInMemory} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, 3, segmentsEverywhere)
			c.create(0, fifo)
			c.sendBodies(0, 0, 100)
			leader := c.agreedLeader()
			away := (leader + 1) % 3
			c.crash(away)
			c.sendBodies(leader, 100, 200)
			c.takeBodies(leader, 0, 50)
			c.snapshotBut(away)
			c.configs[away].Log.Bodies.Store = store
			c.open(away)
			c.waitReady(away)
			c.agree()
			c.gotSnapshots(away, 1)
			want := int64(150)
			if store == BodiesInMemory {
				want = 0
			}
			if stats := c.nodes[away].process.bodies.Stats(); stats.Bodies != want {
				t.Errorf("%+v", stats)
			}
			c.leadsAfterRestart(away)
			c.takeBodies(away, 50, 200)
		})
	}
}

// spaceOfBodies returns the bytes of the snapshots and segments of a node.
func (c *nodes) spaceOfBodies(i int) (snapshots, segments int64) {
	c.t.Helper()
	group := filepath.Join(c.configs[i].DataDir, storage.GroupDirName(0))
	for dir, sum := range map[string]*int64{storage.SnapshotsDir: &snapshots, "bodies": &segments} {
		err := filepath.WalkDir(filepath.Join(group, dir), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err == nil {
				*sum += info.Size()
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file may go meanwhile
			c.t.Fatal(err)
		}
	}
	return snapshots, segments
}

// A node that installs a snapshot puts the bodies into segments and refers to them from its own
// snapshot: no body is on the disk twice, and a restart reads none. This holds for a node that was
// away and for an empty one.
func TestInstalledBodiesTakeTheirSpaceOnce(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, segmentsEverywhere)
	c.create(0, fifo)
	const messages = 400
	c.sendBodies(0, 0, messages)
	leader := c.agreedLeader()
	c.snapshotAll()
	away := (leader + 1) % 3
	for round := range 2 {
		c.crash(away)
		c.sendBodies(leader, messages+round*50, messages+(round+1)*50)
		c.snapshotBut(away)
		c.open(away)
		c.waitReady(away)
		c.agree()
	}
	c.gotSnapshots(away, 2) // one of them it took itself
	last := messages + 2*50
	bodies := int64(len(bodyOf(0)) * last)
	c.waitFor("the space of what was installed to come back", func() bool {
		snapshots, segments := c.spaceOfBodies(away)
		return snapshots < bodies/4 && segments < bodies*5/4
	})
	c.crash(away)
	c.open(away)
	c.waitReady(away)
	c.agree()
	if stats := c.nodes[away].process.bodies.Stats(); stats.Bodies != int64(last) || stats.DiskReads != 0 {
		t.Errorf("after the restart: %+v", stats)
	}
}

// A restored snapshot contains all bodies. A node with segments soon replaces it by one without
// bodies, so that each body is on the disk once.
func TestRestoredBodiesTakeTheirSpaceOnce(t *testing.T) {
	t.Parallel()
	source := startNodes(t, 1, segmentsEverywhere)
	source.create(0, fifo)
	const messages = 400
	source.sendBodies(0, 0, messages)
	_, content := source.backup(0)
	source.close(0)
	c := startNodes(t, 3, segmentsEverywhere)
	leader := c.leader()
	clustertest.Must(t, clustertest.Err(c.nodes[leader].Restore(clustertest.Context(t), bytes.NewReader(content), RestoreOptions{})))
	c.agree()
	bodies := int64(len(bodyOf(0)) * messages)
	if snapshots, _ := c.spaceOfBodies(leader); snapshots < bodies {
		t.Errorf("the snapshots have %d bytes: nothing is tested", snapshots)
	}
	c.sendBodies(leader, messages, messages+40) // more log than inlinedDue of package consensus
	for i := range c.nodes {
		c.waitFor("the space of what was restored to come back", func() bool {
			snapshots, segments := c.spaceOfBodies(i)
			return snapshots < bodies/4 && segments < bodies*3/2
		})
	}
	c.agree()
	c.takeBodies(leader, 0, messages+40)
}

// A node whose snapshots are missing ends and does not touch its segments: with the snapshots back
// in place it has all messages.
func TestRefusedStartLeavesBodies(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, segmentsEverywhere)
	c.create(0, fifo)
	c.sendBodies(0, 0, 200)
	c.snapshotAll()
	c.sendBodies(0, 200, 210)
	c.crash(0)
	cfg := c.configs[0]
	path := filepath.Join(cfg.DataDir, storage.GroupDirName(0), storage.SnapshotsDir)
	record := clustertest.NewFatalRecord()
	cfg.Fatal = record.Fatal
	clustertest.Must(t, os.Rename(path, path+".away"))
	if n, err := Open(clustertest.Context(t), cfg); err == nil {
		n.Close(clustertest.Context(t))
		t.Fatal("it started")
	}
	if codes, errs := record.All(); len(codes) == 0 || codes[0] != ExitLostData {
		t.Errorf("%v, %v", codes, errs)
	}
	clustertest.Must(t, errors.Join(os.RemoveAll(path), os.Rename(path+".away", path)))
	c.open(0)
	c.waitReady(0)
	c.takeBodies(0, 0, 210)
}

// A node that was away is sent only the bodies that it lacks, whichever store it uses. An empty
// node is sent all. Damaged bodies are not part of this: they are healed when they are read.
func TestOnlyLackingBodiesAreSent(t *testing.T) {
	t.Parallel()
	nothing := func(*nodes, int) {}
	for name, test := range map[string]struct {
		store           string // of the node that was away
		change          func(c *nodes, away int)
		atLeast, atMost int // bodies that it is sent
	}{
		"to a node that was away":            {BodiesInSegments, nothing, 40, 40},
		"to a node with bodies in memory":    {BodiesInMemory, nothing, 40, 40},
		"to an empty node":                   {BodiesInSegments, func(c *nodes, away int) { c.wipe(away) }, 220, 1000},
		"to a node whose bodies are damaged": {BodiesInSegments, damageBodies, 40, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, 3, segmentsEverywhere)
			leader := c.agreedLeader()
			away := (leader + 1) % 3
			if test.store == BodiesInMemory {
				c.close(away)
				c.configs[away].Log.Bodies.Store = test.store
				c.open(away)
				c.waitReady(away)
			}
			c.create(leader, fifo)
			c.sendBodies(leader, 0, 200)
			c.agree()
			c.snapshotAll()
			c.crash(away)
			c.takeBodies(leader, 0, 20)
			c.sendBodies(leader, 200, 240)
			c.snapshotBut(away)
			test.change(c, away)
			c.open(away)
			c.waitReady(away)
			c.agree()
			sent := int64(0)
			for _, n := range c.nodes {
				sent += n.group.Stats().SnapshotBytesSent
			}
			const references = 220 * 200 // at most, of one snapshot
			size := len(bodyOf(0))
			if sent < int64(test.atLeast*size) || sent > int64(test.atMost*size+references) {
				t.Errorf("%d bytes of snapshots were sent, for %d to %d bodies of %d bytes", sent, test.atLeast, test.atMost, size)
			}
			if c.nodes[away].Status().Role != "learner" { // an empty node is another one
				c.leadsAfterRestart(away)
			}
			c.takeBodies(away, 20, 240)
		})
	}
}

// damageBodies damages the first bodies of a node that is down.
func damageBodies(c *nodes, i int) {
	for _, file := range c.segmentFiles(i)[:2] {
		clustertest.FlipBit(c.t, file, 30_000)
	}
}

func TestPeekAndBackupReadSegments(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, segmentsEverywhere)
	c.create(0, fifo)
	c.sendBodies(0, 0, 100)
	c.snapshotAll()
	c.nodes[0].ReadLocal(func(v queue.View) {
		peeked, refused := v.Peek(fifo, 0, "", 100)
		if refused != nil || len(peeked) != 100 {
			t.Fatalf("%d messages, %v", len(peeked), refused)
		}
		for i := range peeked {
			if body, err := v.Bodies().Read(peeked[i].Body); err != nil || body.String() != bodyOf(i) {
				t.Fatalf("message %d: %v", i, err)
			}
		}
	})
	_, content := c.backup(0)
	if got := strings.Count(string(content), "body 0000"); got != 100*256 {
		t.Errorf("the backup has %d parts of bodies", got)
	}
	if c.nodes[0].process.bodies.Stats().DiskReads < 100 { // the last segment is in memory
		t.Error("nothing was read from disk: nothing was tested")
	}
}
