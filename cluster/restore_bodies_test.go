package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// spools are what a restore has in the data directory of a node.
func (c *nodes) spools(i int) []string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.configs[i].DataDir, storage.SpoolPattern))
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// noSpools checks that restores, however they ended, left nothing.
func (c *nodes) noSpools() {
	c.t.Helper()
	for i := range c.configs {
		if left := c.spools(i); len(left) > 0 {
			c.t.Errorf("node %d: a restore left %v", i, left)
		}
	}
}

// madeUp is a store of large bodies that are made up anew for whoever reads them.
type madeUp struct{ content.Digests }

const madeUpBytes = 64 << 10

func madeUpBody(number uint32) string {
	return strings.Repeat(fmt.Sprintf("body %010d,", number), madeUpBytes/16)
}

func (madeUp) Keeps(int) bool { return true }

func (madeUp) Append(text string, digest uint64) content.Body {
	var number uint32
	if _, err := fmt.Sscanf(text[:15], "body %d", &number); err != nil {
		panic(err)
	}
	return content.StoredBody(content.Place{Segment: 1, Offset: number}, uint32(len(text)), digest)
}

func (madeUp) Read(b content.Body) (content.Body, error) {
	return content.NewBody(madeUpBody(b.Place().Offset)), nil
}

// backlog is a state of messages with bodies of 64 KiB, of which none is in memory.
func backlog(t *testing.T, messages int) (snapshot.Position, *queue.Broker) {
	t.Helper()
	broker, now := queue.New(), queue.Timestamp(time.Now().UnixMilli())
	broker.UseStore(madeUp{})
	do := func(cmd queue.Command) {
		if _, err := broker.Apply(now, cmd); err != nil {
			t.Fatal(err)
		}
		broker.TakeEvents(nil)
	}
	do(&queue.SetFormatVersion{Version: format.CurrentVersion})
	do(&queue.SetClusterSetting{Name: queue.SettingClusterID, Value: "another"})
	do(&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: strings.Repeat("7f", 16)})
	do(&queue.CreateQueue{Queue: fifo, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	for i := range messages {
		entry := entryFor(fifo, madeUpBody(uint32(i)))
		entry.DeduplicationID = fmt.Sprint(i)
		do(&queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entry}})
	}
	return snapshot.Position{Index: 7, Term: 1, At: broker.Now(), StateHash: broker.StateHash()}, broker
}

// backlogFile is a backup of a backlog.
func backlogFile(t *testing.T, messages int) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "backlog.backup"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() }) // it was only read
	at, broker := backlog(t, messages)
	if err := errors.Join(snapshot.Write(file, at, broker.Freeze()), rewound(file)); err != nil {
		t.Fatal(err)
	}
	return file
}

func rewound(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// liveHeap is how much memory is in use once what nobody refers to is gone.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What a leader has read of a backup has its bodies on disk, whatever the node keeps others
// in. No other test runs beside this one: it measures the memory of the process.
func TestBackupIsReadWithoutItsBodiesInMemory(t *testing.T) {
	const messages = 1024
	file := backlogFile(t, messages)
	for _, store := range []string{BodiesInSegments, BodiesInMemory} {
		t.Run(store, func(t *testing.T) {
			c := startNodes(t, 1, func(cfg *Config) {
				cfg.Log.Bodies = BodyPolicy{Store: store, CacheBytes: 1 << 20}
			})
			if err := rewound(file); err != nil {
				t.Fatal(err)
			}
			before := liveHeap()
			restored, in, err := c.nodes[0].readBackup(file)
			if err != nil || restored.Messages != messages {
				t.Fatalf("%+v, %v", restored, err)
			}
			defer in.close()
			if stats := in.store.Stats(); stats.Bodies != messages {
				t.Errorf("bodies in segments: %+v", stats)
			}
			c.waitFor("the bodies to be written", func() bool { return in.store.Stats().MemoryBytes <= 4<<20 })
			grown := liveHeap() - before
			t.Logf("with %d bytes of bodies the heap grew by %d", messages*madeUpBytes, grown)
			if grown > messages*madeUpBytes/4 {
				t.Error("the bodies are in memory")
			}
			if left := c.spools(0); len(left) != 1 { // the directory with the bodies
				t.Errorf("on disk: %v", left)
			}
			in.close()
			c.noSpools()
		})
	}
}

// atEnd calls a function when all was read.
type atEnd struct {
	io.Reader
	call func()
}

func (r atEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		r.call()
	}
	return n, err
}

// Verifying a backup takes memory for what is about its messages. No other test runs beside
// this one.
func TestBackupIsVerifiedWithoutItsBodiesInMemory(t *testing.T) {
	const messages = 1024
	file := backlogFile(t, messages)
	before, grown := liveHeap(), int64(0)
	contents, err := offline.InspectSnapshot(atEnd{file, func() { grown = max(grown, liveHeap()-before) }})
	if err != nil || contents.Messages != messages || contents.Queues[0].Visible != messages {
		t.Fatalf("%+v, %v", contents, err)
	}
	t.Logf("with %d bytes of bodies the heap grew by %d", messages*madeUpBytes, grown)
	if grown == 0 || grown > messages*madeUpBytes/4 {
		t.Error("the bodies are in memory")
	}
	for _, at := range []int64{200_000, 20_000_000, messages*madeUpBytes - 200_000} { // in bodies
		clustertest.FlipBit(t, file.Name(), at)
		if _, err := offline.InspectSnapshot(io.NewSectionReader(file, 0, 1<<40)); !errors.Is(err, ErrBadBackup) {
			t.Errorf("damage at %d: %v", at, err)
		}
		clustertest.FlipBit(t, file.Name(), at)
	}
	if _, err := offline.InspectSnapshot(io.NewSectionReader(file, 0, 1<<40)); err != nil {
		t.Errorf("without damage again: %v", err)
	}
}

// diskUse watches how much of the disk a directory takes, after each write of a node.
type diskUse struct {
	dir string

	mu   sync.Mutex
	most int64
}

func (d *diskUse) now() (bytes int64) {
	_ = filepath.WalkDir(d.dir, func(_ string, entry fs.DirEntry, err error) error { // files go meanwhile
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

func (d *diskUse) run(_ string, write func() error) error {
	err := write()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.most = max(d.most, d.now())
	return err
}

// A restore of bodies in segments leaves all of them, each where it belongs, and nothing
// else. On the way no more copies are on the disk than it is asked to have room for.
func TestRestoredBodiesAndTheirRoom(t *testing.T) {
	t.Parallel()
	const messages = 256
	file := backlogFile(t, messages)
	var uses []*diskUse
	c := startNodes(t, 3, func(cfg *Config) {
		quickly(cfg)
		cfg.Log.Bodies = BodyPolicy{Store: BodiesInSegments, CacheBytes: 1 << 20, SegmentBytes: 1 << 20}
		uses = append(uses, &diskUse{dir: cfg.DataDir})
		cfg.Disk = uses[len(uses)-1].run
	})
	leader := c.agreedLeader()
	before := uses[leader].now()
	restored, err := c.nodes[leader].Restore(clustertest.Context(t), file, RestoreOptions{})
	if err != nil || restored.Messages != messages || restored.Epoch != 1 {
		t.Fatalf("%+v, %v", restored, err)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	c.agree()
	for i, use := range uses {
		use.mu.Lock()
		copies := float64(use.most-before) / (messages * madeUpBytes)
		use.mu.Unlock()
		t.Logf("up to %.2f copies were on the disk of node %d, node %d led", copies, i, leader)
		if copies < 1 || copies > restoreCopies+0.15 {
			t.Errorf("%.2f copies on the disk of node %d, %d are allowed for", copies, i, restoreCopies)
		}
	}
	c.noSpools()
	for i := range c.nodes {
		if stats := c.nodes[i].process.bodies.Stats(); stats.Bodies != messages {
			t.Errorf("node %d: %+v", i, stats)
		}
	}
	for next := uint32(0); next < messages; {
		got := c.receive(int(next)%3, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(600)}, 0)
		if len(got) == 0 {
			t.Fatalf("nothing was received at message %d", next)
		}
		del := &queue.DeleteMessages{Queue: fifo, Batch: true}
		for i := range got {
			if got[i].Body.String() != madeUpBody(next) {
				t.Fatalf("message %d has the body %.20q...", next, got[i].Body.String())
			}
			del.Handles = append(del.Handles, got[i].Handle.String())
			next++
		}
		c.submit(leader, del)
	}
}

// What refers to the segments of a node is no backup, wherever the node has them.
func TestBackupWithoutItsBodiesIsRefused(t *testing.T) {
	t.Parallel()
	at, broker := backlog(t, 3)
	var references bytes.Buffer
	if err := snapshot.WriteReferences(&references, at, broker.Freeze()); err != nil {
		t.Fatal(err)
	}
	c := startNodes(t, 1, quickly)
	if _, err := c.nodes[0].Restore(clustertest.Context(t), &references, RestoreOptions{}); !errors.Is(err, ErrBadBackup) {
		t.Errorf("got %v", err)
	}
	c.noSpools()
	c.create(0, fifo)
}

// A disk that does not take the bodies of a backup ends the restore, as one does that does
// not take the backup. The node goes on, and the backup is not to blame.
func TestDiskFailsWhileABackupIsRead(t *testing.T) {
	t.Parallel()
	const messages = 1100 // more than waits in memory for a disk: the restore gets to know of it
	file := backlogFile(t, messages)
	full := errors.New("the disk is full")
	for _, what := range []string{"create a segment of bodies in ", "write bodies to "} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			failing := true
			var mu sync.Mutex
			c := startNodes(t, 1, func(cfg *Config) {
				quickly(cfg)
				cfg.Log.Bodies = BodyPolicy{Store: BodiesInSegments, CacheBytes: 1 << 20, SegmentBytes: 1 << 20}
				spool := what + filepath.Join(cfg.DataDir, strings.TrimSuffix(storage.SpoolPattern, "*.tmp"))
				cfg.Disk = func(what string, write func() error) error {
					mu.Lock()
					fails := failing && strings.HasPrefix(what, spool)
					mu.Unlock()
					if fails {
						return full
					}
					return write()
				}
			})
			backup := func() io.Reader { return io.NewSectionReader(file, 0, 1<<40) }
			_, err := c.nodes[0].Restore(clustertest.Context(t), backup(), RestoreOptions{})
			if !errors.Is(err, full) || errors.Is(err, ErrBadBackup) || errors.Is(err, fault.ErrUnavailable) || strings.Contains(err.Error(), "before starting this node") {
				t.Errorf("got %v", err)
			}
			c.noSpools()
			mu.Lock()
			failing = false
			mu.Unlock()
			restored, err := c.nodes[0].Restore(clustertest.Context(t), backup(), RestoreOptions{})
			if err != nil || restored.Messages != messages {
				t.Errorf("with room again: %+v, %v", restored, err)
			}
			c.noSpools()
		})
	}
}
