package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// spoolsIn lists the spools in a data directory.
func spoolsIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	clustertest.Must(t, err)
	var found []string
	for _, entry := range entries {
		if matches, err := filepath.Match(SpoolPattern, entry.Name()); err != nil {
			t.Fatal(err)
		} else if matches {
			found = append(found, entry.Name())
		}
	}
	return found
}

func TestSpoolIsRemovedWhenItWasRead(t *testing.T) {
	const text = "what is kept for a while"
	for _, chunk := range []int{1, 1000} {
		dir := t.TempDir()
		s, err := CreateSpool(dir, nil)
		clustertest.Must(t, err)
		clustertest.Must(t, clustertest.Err(io.WriteString(s, text)))
		if size, err := s.Rewind(); err != nil || size != int64(len(text)) {
			t.Fatalf("%d bytes, %v", size, err)
		}
		var r io.Reader = s
		if chunk == 1 {
			r = iotest.OneByteReader(s)
		}
		if got := make([]byte, len(text)); len(spoolsIn(t, dir)) != 1 {
			t.Error("it went before it was read")
		} else if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		for range 2 {
			if n, err := s.Read(make([]byte, chunk)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: %d bytes, %v", n, err)
			}
			if left := spoolsIn(t, dir); len(left) > 0 {
				t.Errorf("%v is still there", left)
			}
		}
		clustertest.Check(t, s.Close())
	}
}

func TestSpoolsAreRemoved(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path, "a")
	closed, err := CreateSpool(path, nil)
	if err == nil {
		err = closed.Close()
	}
	if left := spoolsIn(t, path); err != nil || len(left) > 0 {
		t.Errorf("closed: %v, %v", left, err)
	}
	// Files that are open when a process is killed remain: a file, and a directory that is not
	// empty.
	clustertest.Must(t, clustertest.Err(CreateSpool(path, nil)))
	segments, err := MakeSpoolDir(path)
	clustertest.Must(t, err)
	clustertest.Must(t, os.WriteFile(filepath.Join(segments, "segment"), []byte("bodies"), 0o600))
	if left := spoolsIn(t, path); len(left) != 2 {
		t.Errorf("killed: %v", left)
	}
	clustertest.Check(t, RemoveSpools(d))
	if left := spoolsIn(t, path); len(left) > 0 {
		t.Errorf("after the next start: %v", left)
	}
}

// The name of the data directory is not a pattern: files of other directories remain.
func TestSpoolsOfOthersStay(t *testing.T) {
	parent := t.TempDir()
	path, other := filepath.Join(parent, "data[1]"), filepath.Join(parent, "data1")
	for _, dir := range []string{path, other} {
		clustertest.Must(t, os.Mkdir(dir, 0o700))
		clustertest.Must(t, clustertest.Err(MakeSpoolDir(dir)))
	}
	clustertest.Check(t, RemoveSpools(openTestDir(t, path, "a")))
	if own, others := spoolsIn(t, path), spoolsIn(t, other); len(own) != 0 || len(others) != 1 {
		t.Errorf("%v is left, and %v of the other node", own, others)
	}
}
