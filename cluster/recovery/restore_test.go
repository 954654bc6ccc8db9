package recovery

import (
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// spools lists the files of a restore in the data directory.
func (s *Service) spools(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.DataDir, storage.SpoolPattern))
	clustertest.Must(t, err)
	return found
}

// liveHeap returns the bytes of memory that are still referred to.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The leader reads a backup of any size: its bodies go to disk. No other test runs at the
// same time, because this one measures the memory of the process.
func TestBackupIsReadWithoutItsBodiesInMemory(t *testing.T) {
	const messages = 1024
	file := clustertest.BacklogFile(t, time.Now(), messages)
	s := New(Options{
		NodeName: "n1", DataDir: t.TempDir(), Segments: Segments{CacheBytes: 1 << 20}, Disk: environment.Environment{}.WithDefaults().Disk,
		Life: t.Context(), Log: slog.New(slog.DiscardHandler), Room: func() int64 { return math.MaxInt64 },
	})
	before := liveHeap()
	restored, in, err := s.readBackup(file)
	if err != nil || restored.Messages != messages {
		t.Fatalf("%+v, %v", restored, err)
	}
	defer in.close()
	if stats := in.store.Stats(); stats.Bodies != messages {
		t.Errorf("bodies in segments: %+v", stats)
	}
	for deadline := time.Now().Add(time.Minute); in.store.Stats().MemoryBytes > 4<<20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the bodies were not written")
		}
	}
	grown := liveHeap() - before
	t.Logf("with %d bytes of bodies the heap grew by %d", messages*clustertest.BacklogBodyBytes, grown)
	if grown > messages*clustertest.BacklogBodyBytes/4 {
		t.Error("the bodies are in memory")
	}
	if left := s.spools(t); len(left) != 1 { // the directory with the bodies
		t.Errorf("on disk: %v", left)
	}
	in.close()
	if left := s.spools(t); len(left) > 0 {
		t.Errorf("left on disk: %v", left)
	}
}
