package storage

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// Other users cannot read files in a data directory, even if its own folder allows access.
func TestFilesArePrivate(t *testing.T) {
	for _, store := range []string{LogStoreWAL, LogStoreBoltDB} {
		t.Run(store, func(t *testing.T) {
			h := newStoreHarness(t, store)
			data := make([]byte, 4<<10)
			for index := uint64(1); index <= 40; index++ { // several files of a wal
				clustertest.Must(t, h.log.StoreLog(&raft.Log{Index: index, Term: 1, Data: data}))
			}
			h.close()
			snapshots, _ := openTestSnapshots(t, h.path)
			writeTestSnapshot(t, snapshots, 10, []byte("state"))
			err := filepath.WalkDir(h.path, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || path == h.path {
					return err
				}
				info, err := entry.Info()
				if err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has the mode %v", path, info.Mode())
				}
				return err
			})
			clustertest.Must(t, err)
		})
	}
}
