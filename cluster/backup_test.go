package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// quickly removes the rate limit of snapshots.
func quickly(cfg *Config) { cfg.Snapshot.BytesPerSecond = 1 << 40 }

func (c *nodes) backup(i int) (*Backup, []byte) {
	c.t.Helper()
	b, err := c.nodes[i].Backup(clustertest.Context(c.t))
	if err != nil {
		c.t.Fatalf("node %d: backup: %v", i, err)
	}
	var content bytes.Buffer
	if err := b.Stream(clustertest.Context(c.t), &content); err != nil {
		c.t.Fatalf("node %d: backup: %v", i, err)
	}
	return b, content.Bytes()
}

// A backup taken while messages are sent equals the state that a node reported at the index of the
// backup.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, quickly)
	c.create(0, fifo)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for i, n := range c.nodes {
		load.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				entry := entryFor(fifo, fmt.Sprint(i, "-", k))
				if _, err := n.Submit(t.Context(), &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entry}}); err != nil {
					t.Errorf("node %d: %v", i, err)
					return
				}
			}
		})
	}
	var mu sync.Mutex
	reported := make(map[uint64]string)
	load.Go(func() {
		for ctx.Err() == nil {
			for _, n := range c.nodes {
				s := n.Status()
				mu.Lock()
				reported[s.AppliedIndex] = s.StateHash
				mu.Unlock()
			}
		}
	})
	matched := [3]bool{}
	c.waitFor("a backup of each node at an index whose hash was reported", func() bool {
		for i := range c.nodes {
			b, content := c.backup(i)
			at, broker, err := snapshot.Read(bytes.NewReader(content))
			if err != nil {
				t.Fatalf("node %d: reading the backup: %v", i, err)
			}
			if at.Index != b.Index || at.At != b.LogTime || fmt.Sprintf("%x", broker.ComputeStateHash()) != b.StateHash {
				t.Fatalf("node %d: the backup %+v holds %+v", i, b.Position, at)
			}
			mu.Lock()
			hash, known := reported[b.Index]
			mu.Unlock()
			if known && hash != b.StateHash {
				t.Fatalf("node %d: hash %s at index %d, a node reported %s", i, b.StateHash, b.Index, hash)
			}
			matched[i] = matched[i] || known
		}
		return matched == [3]bool{true, true, true}
	})
	stop()
	load.Wait()
	c.agree()
	_, first := c.backup(0)
	for i := range c.nodes {
		if _, other := c.backup(i); !bytes.Equal(first, other) {
			t.Errorf("nodes 0 and %d give different backups of the same state", i)
		}
	}
}

// backedUp is a cluster that continues to work after its backup.
type backedUp struct {
	content []byte
	sent    []queue.SentEntry // before the backup, then one after it
	held    string            // a receipt handle from before the backup
}

func newBackedUp(t *testing.T) backedUp {
	t.Helper()
	c := startNodes(t, 1, quickly)
	var b backedUp
	c.create(0, fifo)
	c.create(0, standard)
	for i := range 4 {
		b.sent = append(b.sent, c.send(0, fifo, fmt.Sprint("m", i)))
	}
	c.send(0, standard, "s")
	got := c.receive(0, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1)}, 0)
	// The first message is deleted, but its deduplication id stays known.
	c.submit(0, &queue.DeleteMessages{Queue: fifo, Handles: []string{got[0].Handle.String()}})
	got = c.receive(0, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(1)}, 0)
	b.held = got[0].Handle.String()
	c.submit(0, &queue.ChangeMessageVisibility{Queue: fifo,
		Entries: []queue.VisibilityEntry{{Handle: b.held, VisibilityTimeout: queue.Some(0)}}})
	_, b.content = c.backup(0)
	b.sent = append(b.sent, c.send(0, fifo, "after"))
	c.close(0)
	return b
}

func TestRestoreIntoFreshCluster(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, quickly)
	follower := c.followers()[0]
	restored, err := c.nodes[follower].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{})
	clustertest.Must(t, err)
	if restored.Queues != 2 || restored.Messages != 4 || restored.IDs != 4 || restored.Epoch != 1 {
		t.Errorf("restored %+v", restored)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.agree()
	c.allVote()
	c.noSpools()
	check := func(when string) {
		t.Helper()
		for i, want := range b.sent[:4] {
			if again := c.send(i%3, fifo, fmt.Sprint("m", i)); again.MessageID != want.MessageID || again.Sequence != want.Sequence {
				t.Errorf("%s: a duplicate of message %d got %+v, the original %+v", when, i, again, want)
			}
		}
		_, err := c.nodes[0].Submit(clustertest.Context(t), &queue.DeleteMessages{Queue: fifo, Handles: []string{b.held}})
		if refused := new(queue.Error); !errors.As(err, &refused) || refused.Code != refusal.ReceiptHandleIsInvalid {
			t.Errorf("%s: a handle from before the backup: %v", when, err)
		}
		c.agree()
	}
	check("after the restore")
	next := c.send(1, fifo, "next")
	if newest := b.sent[len(b.sent)-1].Sequence; next.Sequence <= newest {
		t.Errorf("sequence number %d, the other history has used %d", next.Sequence, newest)
	}
	for i := range c.nodes {
		if _, err := c.nodes[i].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{}); !errors.Is(err,
			ErrNotFresh) {
			t.Errorf("a second restore on node %d: %v", i, err)
		}
	}
	for i := range c.nodes {
		c.close(i)
	}
	for i := range c.nodes {
		c.open(i)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	check("after a restart")
	var got []string
	for _, m := range c.receive(2, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10)}, 0) {
		got = append(got, m.Body.String())
	}
	if fmt.Sprint(got) != "[m1 m2 m3 next]" {
		t.Errorf("received %q", got)
	}
}

// allVote checks that every member is a voter.
func (c *nodes) allVote() {
	c.t.Helper()
	for i, n := range c.nodes {
		voters := 0
		for _, m := range n.group.Stats().Members {
			if m.Voter {
				voters++
			}
		}
		if voters != len(c.nodes) {
			c.t.Errorf("node %d: %d of %d members have a vote", i, voters, len(c.nodes))
		}
	}
}

// A leader dies in a restore after it has made the other members learners. After its restart it
// continues with its old state and makes them voters again.
func TestRestoreThatBreaksOffLeavesOneHistory(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, func(cfg *Config) {
		quickly(cfg)
		cfg.Members.PromoteAfter = 100 * time.Millisecond
	})
	leader := c.leader()
	group := c.nodes[leader].group
	for _, voter := range group.Voters() {
		if voter == c.nodes[leader].process.nodeID {
			continue
		}
		clustertest.Must(t, group.ChangeMembers(clustertest.Context(t), 0, consensus.TakeVote, voter))
	}
	c.crash(leader)
	spool := filepath.Join(c.configs[leader].DataDir, strings.ReplaceAll(storage.SpoolPattern, "*", "1"))
	clustertest.Must(t, os.WriteFile(spool, b.content, 0o600))
	segments := filepath.Join(c.configs[leader].DataDir, strings.ReplaceAll(storage.SpoolPattern, "*", "2"))
	if err := errors.Join(os.Mkdir(segments, 0o700),
		os.WriteFile(filepath.Join(segments, "0000000001.bodies"), b.content, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.open(leader)
	c.noSpools()
	c.roles("n1 voter, n2 voter, n3 voter")
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.agree()
	clustertest.Must(t, clustertest.Err(c.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{})))
	c.agree()
	c.allVote()
}

// The followers need longer to install the state than a leader may be without their answers.
func TestRestoreThatTakesLongerThanALease(t *testing.T) {
	t.Parallel()
	source := startNodes(t, 1, quickly)
	source.create(0, standard)
	body := strings.Repeat("x", 1<<20-100)
	for range 24 {
		source.send(0, standard, body)
	}
	_, content := source.backup(0)
	source.close(0)
	c := startNodes(t, 3, func(cfg *Config) {
		quickly(cfg)
		cfg.Snapshot.SyncBytes = 8 << 10
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 1200*time.Millisecond, 1200*time.Millisecond, 600*time.Millisecond
	})
	restored, err := c.nodes[c.leader()].Restore(clustertest.Context(t), bytes.NewReader(content), RestoreOptions{})
	if err != nil || restored.Messages != 24 {
		t.Fatalf("%+v, %v", restored, err)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.agree()
	c.allVote()
	c.send(0, standard, "more")
}

func TestDamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, quickly)
	before := c.nodes[0].Status().StateHash
	refused := func(name string, content []byte) {
		t.Helper()
		for i, n := range c.nodes {
			if _, err := n.Restore(clustertest.Context(t), bytes.NewReader(content), RestoreOptions{}); !errors.Is(err, ErrBadBackup) {
				t.Errorf("%s, node %d: %v", name, i, err)
			}
		}
	}
	for _, length := range []int{0, 5, 9, len(b.content) / 2, len(b.content) - 1} {
		refused(fmt.Sprintf("cut after %d bytes", length), b.content[:length])
	}
	for at := 1; at < len(b.content); at += len(b.content)/7 + 1 {
		flipped := bytes.Clone(b.content)
		flipped[at] ^= 0x10
		refused(fmt.Sprintf("byte %d changed", at), flipped)
	}
	refused("with more behind it", append(bytes.Clone(b.content), 0))
	c.noSpools()
	c.agree()
	if after := c.nodes[0].Status().StateHash; after != before {
		t.Errorf("the state changed from %s to %s", before, after)
	}
	c.create(0, fifo)
	c.send(1, fifo, "here")
}

// A restore is refused unless all members are present, since the leader replaces its state before a
// majority has the new one.
func TestRestoreNeedsEveryMember(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, quickly)
	c.crash(c.followers()[0])
	leader := c.leader()
	if _, err := c.nodes[leader].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{}); !errors.Is(err,
		ErrMembersAway) {
		t.Errorf("restored without a member: %v", err)
	}
	c.noSpools()
	c.waitReady(leader)
	c.create(leader, fifo)
}

// countedReader is an endless backup that counts what is read of it.
type countedReader struct{ read atomic.Int64 }

func (r *countedReader) Read(content []byte) (int, error) {
	if r.read.Add(int64(len(content))) > 1<<30 {
		return 0, errors.New("all of it was taken")
	}
	return len(content), nil
}

// A cluster with a topic is not empty, so it refuses a restore.
func TestRestoreIntoAClusterWithTopics(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, quickly)
	_, content := c.backup(0)
	c.createTopic(0, "t")
	if _, err := c.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(content), RestoreOptions{}); !errors.Is(err, ErrNotFresh) {
		t.Errorf("got %v", err)
	}
}

// A leader with data refuses a backup that another node forwards before it receives the content.
func TestLeaderRefusesABackupBeforeItIsReceived(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, quickly)
	c.create(0, fifo)
	c.agree()
	leader := c.agreedLeader()
	conn, err := c.nodes[(leader+1)%3].process.network.Dial(clustertest.Context(t), c.nodes[leader].Status().NodeID, peernet.KindRestore, 0)
	clustertest.Must(t, err)
	backup := &countedReader{}
	var answer struct {
		Kind string `json:"kind"`
	}
	if err := forward.SendBackup(clustertest.Context(t), conn, backup, &answer); err != nil || answer.Kind != "notFresh" {
		t.Errorf("got %+v, %v", answer, err)
	}
	t.Logf("%d bytes were read for it", backup.read.Load())
}

// A backup that does not fit the leader's disk is refused before it fills it.
func TestBackupLargerThanTheDisk(t *testing.T) {
	t.Parallel()
	b := newBackedUp(t)
	c := startNodes(t, 3, func(cfg *Config) {
		quickly(cfg)
		cfg.Limits.Pressure.DiskResign = DiskMark{Bytes: 1 << 20}
		cfg.Limits.Pressure.DiskSpace = func(string) (environment.DiskSpace, error) {
			return environment.DiskSpace{Free: 100 << 20, Total: 200 << 20}, nil
		}
	})
	for i := range c.nodes {
		_, err := c.nodes[i].Restore(clustertest.Context(t), &countedReader{}, RestoreOptions{})
		if !errors.Is(err, fault.ErrUnavailable) || !strings.Contains(err.Error(), "no room") {
			t.Errorf("an endless backup on node %d: %v", i, err)
		}
	}
	if _, err := c.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(b.content), RestoreOptions{}); err != nil {
		t.Errorf("a backup that fits: %v", err)
	}
	c.noSpools()
}
