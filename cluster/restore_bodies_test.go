package cluster

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
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
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// spools returns the temporary files of restores in the data directory of a node.
func (c *nodes) spools(i int) []string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.configs[i].DataDir, storage.SpoolPattern))
	clustertest.Must(c.t, err)
	return found
}

// noSpools checks that no restore left a temporary file behind.
func (c *nodes) noSpools() {
	c.t.Helper()
	for i := range c.configs {
		if left := c.spools(i); len(left) > 0 {
			c.t.Errorf("node %d: a restore left %v", i, left)
		}
	}
}

// liveHeap returns the bytes of memory in use after a garbage collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// atEnd calls a function at the end of its input.
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

// The verification of a backup does not keep message bodies in memory. The test measures the heap,
// so no other test runs beside it.
func TestBackupIsVerifiedWithoutItsBodiesInMemory(t *testing.T) {
	const messages = 1024
	file := clustertest.BacklogFile(t, time.Now(), messages)
	before, grown := liveHeap(), int64(0)
	contents, err := offline.InspectSnapshot(atEnd{file, func() { grown = max(grown, liveHeap()-before) }})
	if err != nil || contents.Messages != messages || contents.Queues[0].Visible != messages {
		t.Fatalf("%+v, %v", contents, err)
	}
	t.Logf("with %d bytes of bodies the heap grew by %d", messages*clustertest.BacklogBodyBytes, grown)
	if grown == 0 || grown > messages*clustertest.BacklogBodyBytes/4 {
		t.Error("the bodies are in memory")
	}
	for _, at := range []int64{200_000, 20_000_000, messages*clustertest.BacklogBodyBytes - 200_000} { // in bodies
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

// diskUse records after each write of a node how large a directory is.
type diskUse struct {
	dir string

	mu   sync.Mutex
	most int64
}

func (d *diskUse) now() (bytes int64) {
	_ = filepath.WalkDir(d.dir, func(_ string, entry fs.DirEntry, err error) error { // files may be removed meanwhile
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

// A restore into segments keeps exactly the bodies of the backup. Meanwhile there are never more
// copies on the disk than it requires room for.
func TestRestoredBodiesAndTheirRoom(t *testing.T) {
	t.Parallel()
	const messages = 256
	file := clustertest.BacklogFile(t, time.Now(), messages)
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
	const copiesMax = 2 // as package recovery
	for i, use := range uses {
		use.mu.Lock()
		copies := float64(use.most-before) / (messages * clustertest.BacklogBodyBytes)
		use.mu.Unlock()
		t.Logf("up to %.2f copies were on the disk of node %d, node %d led", copies, i, leader)
		if copies < 1 || copies > copiesMax+0.15 {
			t.Errorf("%.2f copies on the disk of node %d, %d are allowed for", copies, i, copiesMax)
		}
	}
	c.noSpools()
	for i := range c.nodes {
		if stats := c.nodes[i].process.bodies.Stats(); stats.Bodies != messages {
			t.Errorf("node %d: %+v", i, stats)
		}
	}
	for next := uint32(0); next < messages; {
		got := c.receive(int(next)%3, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(600)},
			0)
		if len(got) == 0 {
			t.Fatalf("nothing was received at message %d", next)
		}
		del := &queue.DeleteMessages{Queue: fifo, Batch: true}
		for i := range got {
			if got[i].Body.String() != clustertest.BacklogBody(next) {
				t.Fatalf("message %d has the body %.20q...", next, got[i].Body.String())
			}
			del.Handles = append(del.Handles, got[i].Handle.String())
			next++
		}
		c.submit(leader, del)
	}
}

// A snapshot without bodies that refers to a node's segments is refused as a backup.
func TestBackupWithoutItsBodiesIsRefused(t *testing.T) {
	t.Parallel()
	at, broker := clustertest.Backlog(t, time.Now(), 3)
	var references bytes.Buffer
	clustertest.Must(t, snapshot.WriteReferences(&references, at, broker.Freeze()))
	c := startNodes(t, 1, quickly)
	if _, err := c.nodes[0].Restore(clustertest.Context(t), &references, RestoreOptions{}); !errors.Is(err, ErrBadBackup) {
		t.Errorf("got %v", err)
	}
	c.noSpools()
	c.create(0, fifo)
}

// A restore fails if the disk does not accept the bodies, as if it did not accept the backup
// itself. The node continues, and the error does not blame the backup.
func TestDiskFailsWhileABackupIsRead(t *testing.T) {
	t.Parallel()
	const messages = 1100 // more than the queue of writes holds, so that the restore learns of the failure
	file := clustertest.BacklogFile(t, time.Now(), messages)
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
			if !errors.Is(err, full) || errors.Is(err, ErrBadBackup) || errors.Is(err, fault.ErrUnavailable) ||
				strings.Contains(err.Error(), "before starting this node") {
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
