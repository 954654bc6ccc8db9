package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReplayBeforeConsensus: a node alone, which nobody can tell what is
// committed, has applied what it knew to be when it stopped, and no more, and
// knows the members of that time.
func TestReplayBeforeConsensus(t *testing.T) {
	for name, snapshot := range map[string]bool{"without a snapshot": false, "after a snapshot": true} {
		t.Run(name, func(t *testing.T) {
			bothStores(t, func(t *testing.T, store string) {
				g := newGroups(t, 3, func(i int, cfg *Config) { smallSteps(i, cfg); cfg.Log.Store = store })
				g.startAll()
				g.agree(g.propose(0, 20))
				if snapshot {
					g.snapshotAll()
				}
				known := g.propose(20, 60)
				g.agree(known)
				last := g.proposeOne(testNamedEntry(t, 60)) // its append tells the mark of those before
				g.agree(last)
				members := g.leader().group.raft.GetConfiguration().Configuration()
				g.stopAll()

				alone := g.members[0]
				alone.start()
				if applied := alone.machine.AppliedIndex(); applied < known || applied > last {
					t.Errorf("entry %d is applied, known to be committed was %d, the last is %d", applied, known, last)
				}
				if got := alone.group.raft.GetConfiguration().Configuration(); !slices.Equal(got.Servers, members.Servers) {
					t.Errorf("the members are %v, they were %v", got, members)
				}
				for _, m := range g.members[1:] {
					m.start()
				}
				g.agree(g.propose(61, 65))
				g.snapshotAll()
				g.stopAll()
				g.startAll()
				g.agree(g.propose(65, 70))
			})
		})
	}
}

// TestMarkOfACommittedEntry: what is known to be committed never lies behind the
// end, also when the log is shortened, and a mark that says so is damage. A mark
// of an older program knows of none.
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
	if err := mark.raise(11); err != nil { // by a tool that does not know better
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
	if err := reopen(); !errors.Is(err, errDamaged) {
		t.Fatalf("a committed entry behind the end: %v", err)
	}
}
