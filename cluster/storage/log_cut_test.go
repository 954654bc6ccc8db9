package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A former leader truncates its log and restarts, repeatedly: entries around every cut remain
// readable.
func TestLogSurvivesCutsAndRestarts(t *testing.T) {
	clustertest.BothStores(t, func(t *testing.T, store string) {
		h := newStoreHarness(t, store)
		h.store(1, 10)
		for _, cut := range []struct{ from, to, after uint64 }{{8, 10, 12}, {5, 12, 400}, {390, 400, 391}, {391, 391, 420}} {
			clustertest.Must(t, h.log.DeleteRange(cut.from, cut.to))
			h.store(cut.from, cut.after)
			for range 2 {
				if err := h.reopen(); err != nil {
					t.Fatalf("after the cut at %d: %v", cut.from, err)
				}
				h.want(1, cut.after)
			}
		}
	})
}

// A power cut at the very first start may leave the name of the single-file log with any part of
// its content. Nothing was confirmed yet, so the node starts.
func TestSingleFileLogIsMadeAgainAfterAPowerCut(t *testing.T) {
	h := newStoreHarness(t, LogStoreBoltDB)
	file := filepath.Join(h.path, GroupDirName(0), BoltName)
	h.close()
	whole, err := os.ReadFile(file)
	clustertest.Must(t, err)
	for _, kept := range []int{0, 512, 4096} {
		clustertest.Must(t, os.WriteFile(file, whole[:kept], 0o600))
		if err := h.open(); err != nil {
			t.Fatalf("with %d bytes of its first write: %v", kept, err)
		}
		h.want(0, 0)
		h.close()
	}
}
