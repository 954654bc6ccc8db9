package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// TestMarkOfACommittedEntry checks that the known committed entry never exceeds the end of the log,
// even when the log is shortened, and that a mark which says otherwise is damaged.
func TestMarkOfACommittedEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), logMarkName)
	mark, err := openLogMark(path, true)
	clustertest.Must(t, err)
	reopen := func() error {
		err := mark.close()
		var again error
		mark, again = openLogMark(path, false)
		return errors.Join(err, again)
	}
	check := func(index, committed uint64) {
		t.Helper()
		clustertest.Must(t, reopen())
		if mark.index != index || mark.knownCommitted != committed {
			t.Fatalf("the mark says %d and %d, want %d and %d", mark.index, mark.knownCommitted, index, committed)
		}
	}
	check(0, 0)
	mark.committed = func() uint64 { return 7 }
	clustertest.Must(t, mark.raise(10))
	check(10, 7)
	if err := mark.raise(11); err != nil { // by a tool without a committed index
		t.Fatal(err)
	}
	check(11, 7)
	clustertest.Must(t, mark.lower(5))
	check(5, 5)
	clustertest.Must(t, os.WriteFile(path, logMarkContent(5, 6), 0o600))
	if err := reopen(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a committed entry behind the end: %v", err)
	}
}
