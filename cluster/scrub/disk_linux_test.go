package scrub

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// readFromDisk returns the bytes that this process read from disks.
func readFromDisk(t *testing.T) (bytes int64) {
	t.Helper()
	counts, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the system does not count what is read from disks: ", err)
	}
	_, line, _ := strings.Cut(string(counts), "\nread_bytes: ")
	clustertest.Must(t, clustertest.Err(fmt.Sscan(line, &bytes)))
	return bytes
}

// A walk finds damage on disk, even of small bodies in the page cache.
func TestBodiesAreReadFromTheDisk(t *testing.T) {
	here := members(t, "a-1")[0]
	var stat unix.Statfs_t
	if err := unix.Statfs(t.TempDir(), &stat); err != nil || stat.Type == unix.TMPFS_MAGIC {
		t.Skip("files are in memory alone", err)
	}
	here.apply(&queue.CreateQueue{Queue: orders}, send(0), send(1), send(2))
	here.sync()
	here.scrubber.options.BytesPerSecond = 1 << 40
	before := readFromDisk(t)
	here.scrubber.piece(clustertest.Context(t), &walk{})
	if checked := here.bodies.Stats().Checked; checked < int64(3*len(textOf(0))) {
		t.Fatalf("%d bytes were checked", checked)
	}
	if readFromDisk(t) == before {
		t.Error("bodies were checked without the disk")
	}
	here.mustRun()
}
