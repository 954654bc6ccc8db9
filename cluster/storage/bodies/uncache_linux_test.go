package bodies

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// cached reports whether the page cache has the beginning of a body.
func (n *node) cached(body message.Body) bool {
	n.t.Helper()
	return n.cachedAt(body, 0)
}

// cachedAt checks the page at an offset.
func (n *node) cachedAt(body message.Body, behind int64) bool {
	n.t.Helper()
	file, err := os.Open(n.store.path(body.Place().Segment))
	clustertest.Must(n.t, err)
	defer closeRead(file)
	_, err = unix.Preadv2(int(file.Fd()), [][]byte{make([]byte, recordHeadBytes)}, int64(body.Place().Offset)+behind, unix.RWF_NOWAIT)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		n.t.Skip("this file system does not tell what is cached")
	case err != nil && !errors.Is(err, unix.EAGAIN):
		n.t.Fatal(err)
	}
	return err == nil
}

// onDisk skips the test on file systems in memory.
func onDisk(t *testing.T) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(t.TempDir(), &stat); err != nil || stat.Type == unix.TMPFS_MAGIC {
		t.Skip("files are in memory alone", err)
	}
}

// The page cache keeps nothing of a large body that was written, except its ends. Checking a page
// may load it, so most results decide.
func TestLargeBodiesAreWrittenDirectly(t *testing.T) {
	onDisk(t)
	n := newNode(t)
	n.store.Close()
	n.options.SegmentBytes = 8 << 20
	n.open()
	probe, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	clustertest.Must(t, err)
	defer closeRead(probe)
	direct := openDirect(probe.Name())
	if direct == nil {
		t.Skip("this file system takes no direct writes")
	}
	defer closeRead(direct)
	if _, err := direct.WriteAt(chunkMemory(directUnit, 0)[:directUnit], 0); err != nil {
		t.Skip("this file system takes no direct writes:", err)
	}
	small := n.send(0, 1000)
	var large []message.Body
	for i, size := range []int{1 << 20, directBody, 3 << 20, 1 << 20, directBody, 300_000, 200_000, 1 << 20} {
		large = append(large, n.send(1+i, size))
	}
	last := n.send(20, 1000)
	n.snapshot()
	cached := 0
	for _, body := range large {
		if n.cachedAt(body, int64(body.Len())/2) {
			cached++
		}
	}
	if cached > len(large)/2 {
		t.Errorf("%d of %d large bodies are cached", cached, len(large))
	}
	for _, body := range []message.Body{small, last} {
		if !n.cached(body) {
			t.Errorf("a body of %d bytes is not cached", body.Len())
		}
	}
}

// Check reads bodies from disk, whatever their size, place and the size of the write.
func TestWhatIsCheckedIsNotCached(t *testing.T) {
	onDisk(t)
	n := newNode(t)
	n.store.Close()
	n.options.Dir, n.options.SegmentBytes = filepath.Join(t.TempDir(), "bodies"), 8<<20
	n.open()
	var sent []message.Body
	for i := range 5000 {
		sent = append(sent, n.send(i, 200+i%500))
	}
	sent = append(sent, n.send(5000, 3<<20), n.send(5001, 200))
	n.snapshot()
	some := []int{1, 700, 2500, 4999, 5000, 5001}
	for _, i := range some {
		if !n.cached(sent[i]) {
			t.Errorf("body %d is not cached after it was written", i)
		}
	}
	for _, i := range some {
		// Once is enough, except for pages that the system is prefetching just then.
		deadline := time.Now().Add(time.Minute)
		for n.store.Uncache(sent[i : i+1]); n.cached(sent[i]); n.store.Uncache(sent[i : i+1]) {
			if time.Now().After(deadline) {
				t.Fatalf("body %d is cached, so that reading it says nothing about the disk", i)
			}
		}
		if found := n.store.Check(sent[i : i+1]); len(found) > 0 {
			t.Errorf("%v are damaged", found)
		}
	}
}
