package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// sealedTail stores entries until the first file of the wal is sealed, closes the
// log, and takes back what comes after the sealing batch: the next file and its
// name. It returns the path of the sealed file and the last entry in it.
func (h *storeHarness) sealedTail(unmarked uint64) (path string, last uint64) {
	h.t.Helper()
	dir := filepath.Join(h.path, "group-0", WALName)
	files := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "*.wal"))
		if err != nil {
			h.t.Fatal(err)
		}
		return len(found)
	}
	for last = 1; ; last++ {
		h.store(last, last)
		sealed := h.waitRotated(last)
		if sealed {
			break
		}
	}
	if files() != 2 {
		h.t.Fatalf("%d files after the first was sealed", files())
	}
	if err := h.log.mark.lower(last - unmarked); err != nil {
		h.t.Fatal(err)
	}
	h.close()
	h.changeMeta(func(state *types.PersistentState) {
		next := state.Segments[1]
		state.Segments = state.Segments[:1]
		first := &state.Segments[0]
		path = filepath.Join(dir, segment.FileName(*first))
		first.SealTime, first.MaxIndex, first.IndexStart = time.Time{}, 0, 0
		state.NextSegmentID--
		if err := os.Remove(filepath.Join(dir, segment.FileName(next))); err != nil {
			h.t.Fatal(err)
		}
	})
	return path, last
}

// waitRotated reports whether the last append has sealed its file; if so it
// returns when the next one is there.
func (h *storeHarness) waitRotated(last uint64) bool {
	h.t.Helper()
	dir := filepath.Join(h.path, "group-0", WALName)
	first, err := filepath.Glob(filepath.Join(dir, "*-0000000000000000.wal"))
	if err != nil || len(first) != 1 {
		h.t.Fatal(first, err)
	}
	tail, err := readTail(first[0])
	if err != nil || tail.entries != last {
		h.t.Fatalf("the file ends as %+v, %v; want %d entries", tail, err, last)
	}
	if tail.index == 0 {
		return false
	}
	deadline := time.Now().Add(time.Minute)
	for {
		files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
		if err == nil && len(files) == 2 {
			// The library names the file before it makes it.
			return true
		}
		if time.Now().After(deadline) {
			h.t.Fatal(files, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (h *storeHarness) changeMeta(change func(*types.PersistentState)) {
	h.t.Helper()
	meta := &metadb.BoltMetaDB{}
	state, err := meta.Load(filepath.Join(h.path, "group-0", WALName))
	if err == nil {
		change(&state)
		err = meta.CommitState(state)
	}
	if err = errors.Join(err, meta.Close()); err != nil {
		h.t.Fatal(err)
	}
}

// goesOn appends beyond the next file's end and reads all again after restarts.
func (h *storeHarness) goesOn(last uint64) {
	h.t.Helper()
	if err := h.open(); err != nil {
		h.t.Fatal(err)
	}
	h.want(1, last)
	h.store(last+1, last+600)
	for range 2 {
		if err := h.reopen(); err != nil {
			h.t.Fatal(err)
		}
		h.want(1, last+600)
	}
}

// A crash comes between the batch that seals a file and the next file.
func TestLogGoesOnAfterACrashBetweenTwoFiles(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	_, last := h.sealedTail(0)
	h.goesOn(last)
}

// A crash tears the batch that seals a file: all of its entries and a part of the
// index block are there, the end is not.
func TestLogGoesOnAfterATornSealingBatch(t *testing.T) {
	cases := []struct {
		name string
		keep func(tail walTail, size int64) int64 // bytes of the file from its beginning
	}{
		{"the index block is cut", func(tail walTail, _ int64) int64 { return tail.index + walFrameHead + 4 }},
		{"only the head of the index block", func(tail walTail, _ int64) int64 { return tail.index + walFrameHead }},
		{"only the commit is missing", func(tail walTail, _ int64) int64 { return tail.end - walFrameHead }},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			h := newStoreHarness(t, LogStoreWAL)
			path, last := h.sealedTail(1)
			tail, err := readTail(path)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := clearFrom(path, test.keep(tail, info.Size())); err != nil {
				t.Fatal(err)
			}
			h.goesOn(last - 1)
		})
	}
}

// A batch with a wrong checksum at the end counts as not written, and so does its
// index block; one before the end is left for the checks of the entries.
func TestReadTail(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	path, last := h.sealedTail(0)
	whole, err := readTail(path)
	if err != nil || whole.entries != last || whole.index == 0 || whole.index >= whole.end {
		t.Fatalf("got %+v, %v, want %d entries and an index block", whole, err, last)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[whole.index+walFrameHead] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	torn, err := readTail(path)
	if err != nil || torn.entries != last-1 || torn.index < torn.end {
		t.Errorf("with a wrong checksum: %+v, %v", torn, err)
	}
	if _, err := readTail(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
