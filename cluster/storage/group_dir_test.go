package storage

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// Each group has its own marker files, which remain when its directory is lost.
func TestGroupsKeepTheirSigns(t *testing.T) {
	path := t.TempDir()
	dir := openTestDir(t, path, "a")
	first, second := openTestGroup(t, dir, 0), openTestGroup(t, dir, 1)
	for _, g := range []*GroupDir{first, second} {
		if g.HasLog() || g.voteWritten.made.Load() {
			t.Error("a new group is said to have had state")
		}
	}
	clustertest.Must(t, errors.Join(second.MarkLog(), second.MarkLog(), second.markVote()))
	select {
	case <-second.LogBegun():
	default:
		t.Error("nobody is told of the first entry")
	}
	if first.HasLog() {
		t.Error("the sign of one group is taken for that of the other")
	}
	clustertest.Must(t, errors.Join(first.MarkLog(), dir.Close()))
	for _, name := range []string{GroupDirName(0), GroupDirName(1)} {
		clustertest.RemoveFile(t, filepath.Join(path, name))
	}
	dir = openTestDir(t, path, "a")
	first, second = openTestGroup(t, dir, 0), openTestGroup(t, dir, 1)
	if !first.HasLog() || first.voteWritten.made.Load() || !second.HasLog() || !second.voteWritten.made.Load() {
		t.Error("signs are forgotten or mixed up")
	}
	<-first.LogBegun()
	// The first group has marker files without a suffix.
	for _, name := range []string{"log-written", "log-written-1", "stable-written-1", "group-0", "group-1"} {
		if found, err := exists(filepath.Join(path, name)); !found || err != nil {
			t.Errorf("there is no %s: %v", name, err)
		}
	}
}
