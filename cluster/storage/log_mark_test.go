package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestMarkOfACommittedEntry checks that the known committed entry never exceeds the end of the log,
// even when the log is shortened, and that a mark which says otherwise is damaged.
func TestMarkOfACommittedEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), logMarkName)
	mark, err := openLogMark(path, true)
	if err != nil {
		t.Fatal(err)
	}
	reopen := func() error {
		err := mark.close()
		var again error
		mark, again = openLogMark(path, false)
		return errors.Join(err, again)
	}
	check := func(index, committed uint64) {
		t.Helper()
		if err := reopen(); err != nil {
			t.Fatal(err)
		}
		if mark.index != index || mark.knownCommitted != committed {
			t.Fatalf("the mark says %d and %d, want %d and %d", mark.index, mark.knownCommitted, index, committed)
		}
	}
	check(0, 0)
	mark.committed = func() uint64 { return 7 }
	if err := mark.raise(10); err != nil {
		t.Fatal(err)
	}
	check(10, 7)
	if err := mark.raise(11); err != nil { // by a tool without a committed index
		t.Fatal(err)
	}
	check(11, 7)
	if err := mark.lower(5); err != nil {
		t.Fatal(err)
	}
	check(5, 5)
	if err := os.WriteFile(path, logMarkContent(5, 6), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reopen(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a committed entry behind the end: %v", err)
	}
}
