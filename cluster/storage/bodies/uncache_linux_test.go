package bodies

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seriatimq/seriatim/queue/content"
)

// cached reports whether the memory that the system keeps of files has the beginning of a body.
func (n *node) cached(body content.Body) bool {
	n.t.Helper()
	file, err := os.Open(n.store.path(body.Place().Segment))
	if err != nil {
		n.t.Fatal(err)
	}
	defer closeRead(file)
	_, err = unix.Preadv2(int(file.Fd()), [][]byte{make([]byte, recordHeadBytes)}, int64(body.Place().Offset), unix.RWF_NOWAIT)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		n.t.Skip("this file system does not tell what is cached")
	case err != nil && !errors.Is(err, unix.EAGAIN):
		n.t.Fatal(err)
	}
	return err == nil
}

// What is checked is read from the disk, however small it is, at whatever place, and however
// much of the file was written at once.
func TestWhatIsCheckedIsNotCached(t *testing.T) {
	var stat unix.Statfs_t
	if err := unix.Statfs(t.TempDir(), &stat); err != nil || stat.Type == unix.TMPFS_MAGIC {
		t.Skip("files are in memory alone", err)
	}
	n := newNode(t)
	n.store.Close()
	n.options.Dir, n.options.SegmentBytes = filepath.Join(t.TempDir(), "bodies"), 8<<20
	n.open()
	var sent []content.Body
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
		// Once is enough, but for memory that the system is reading ahead into just then.
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
