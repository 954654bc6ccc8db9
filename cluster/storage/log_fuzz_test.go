package storage

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// storedFiles are the files of a data directory with a log, by path.
type storedFiles map[string][]byte

// logOf writes a log of n entries with one backend and returns its files.
func logOf(t *testing.T, store string, n uint64) storedFiles {
	t.Helper()
	h := newStoreHarness(t, store)
	for i := uint64(1); i <= n; i++ {
		clustertest.Must(t, h.log.StoreLog(fuzzedEntry(i)))
	}
	h.close()
	files := storedFiles{}
	err := filepath.WalkDir(h.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(h.path, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	clustertest.Must(t, err)
	return files
}

func fuzzedEntry(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 1 + index/8, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d of a log", index)}
}

const fuzzedEntries = 20

// FuzzDamagedLog damages one file of a log: the log either fails to open or returns every entry as
// written. It never panics.
func FuzzDamagedLog(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint32(0), []byte{1}, false)
	f.Add(uint8(1), uint8(3), uint32(40), []byte{0xff, 0xff}, false)
	f.Add(uint8(0), uint8(2), uint32(100), []byte{}, true)
	stored := map[string]storedFiles{}
	f.Fuzz(func(t *testing.T, backend, which uint8, at uint32, flips []byte, cut bool) {
		store := []string{LogStoreWAL, LogStoreBoltDB}[backend%2]
		if stored[store] == nil {
			stored[store] = logOf(t, store, fuzzedEntries)
		}
		// Only files of the log: the identity files have their own tests.
		var names []string
		for name := range stored[store] {
			if filepath.Dir(name) != "." {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		name := names[int(which)%len(names)]
		damaged := bytes.Clone(stored[store][name])
		if len(damaged) == 0 {
			return
		}
		at %= uint32(len(damaged))
		if cut {
			damaged = damaged[:at]
		}
		for i, flip := range flips {
			if i += int(at); i < len(damaged) {
				damaged[i] ^= flip
			}
		}
		h := &storeHarness{t: t, path: t.TempDir(), options: testLogOptions(store)}
		for other, content := range stored[store] {
			if other == name {
				content = damaged
			}
			path := filepath.Join(h.path, other)
			clustertest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			clustertest.Must(t, os.WriteFile(path, content, 0o600))
		}
		if h.open() != nil {
			return
		}
		defer h.close()
		for i := uint64(1); i <= fuzzedEntries; i++ {
			var got raft.Log
			if err := h.log.GetLog(i, &got); err != nil {
				return // reported as damage, which ends the node
			}
			if want := fuzzedEntry(i); got.Index != want.Index || got.Term != want.Term || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("%s of %s: entry %d became %+v", name, store, i, got)
			}
		}
	})
}
