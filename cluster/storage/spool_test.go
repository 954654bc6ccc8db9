package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

// spoolsIn lists the spools in a data directory.
func spoolsIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, text); err != nil {
			t.Fatal(err)
		}
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
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
	if _, err := CreateSpool(path, nil); err != nil {
		t.Fatal(err)
	}
	segments, err := MakeSpoolDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(segments, "segment"), []byte("bodies"), 0o600); err != nil {
		t.Fatal(err)
	}
	if left := spoolsIn(t, path); len(left) != 2 {
		t.Errorf("killed: %v", left)
	}
	if err := RemoveSpools(d); err != nil {
		t.Error(err)
	}
	if left := spoolsIn(t, path); len(left) > 0 {
		t.Errorf("after the next start: %v", left)
	}
}

// The name of the data directory is not a pattern: files of other directories remain.
func TestSpoolsOfOthersStay(t *testing.T) {
	parent := t.TempDir()
	path, other := filepath.Join(parent, "data[1]"), filepath.Join(parent, "data1")
	for _, dir := range []string{path, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := MakeSpoolDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveSpools(openTestDir(t, path, "a")); err != nil {
		t.Error(err)
	}
	if own, others := spoolsIn(t, path), spoolsIn(t, other); len(own) != 0 || len(others) != 1 {
		t.Errorf("%v is left, and %v of the other node", own, others)
	}
}
