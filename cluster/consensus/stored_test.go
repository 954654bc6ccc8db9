package consensus

import (
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/snapshot"
)

// openTestStored opens the files of a stopped member.
func openTestStored(t *testing.T, m *member) *Stored {
	t.Helper()
	dir, err := storage.OpenStoppedDir(m.node.path)
	clustertest.Must(t, err)
	guard := storage.NewDiskGuard(clustertest.Timeout, clustertest.NewFatalRecord().Fatal, nil)
	s, err := OpenStored(t.Context(), openTestGroup(t, dir), guard, environment.SystemClock(), m.options.Logger)
	clustertest.Must(t, err)
	t.Cleanup(func() {
		clustertest.Check(t, s.Close())
		clustertest.Check(t, dir.Close())
	})
	return s
}

// replayed returns the state of the newest snapshot and the log up to last.
func (s *Stored) replayed(t *testing.T, last uint64) *fsm.FSM {
	t.Helper()
	snapshots, err := s.Snapshots()
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("snapshots: %v, %v", snapshots, err)
	}
	content, err := s.OpenSnapshot(snapshots[0].ID)
	clustertest.Must(t, err)
	machine := fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
	clustertest.Must(t, machine.Restore(content))
	clustertest.Must(t, s.Replay(machine, snapshots[0].Index+1, last))
	return machine
}

// TestStoredIsReadAndRecovered reads log, state and members of a stopped group. After the recovery
// it has one snapshot with the new members and no log, and repeating the recovery changes nothing.
func TestStoredIsReadAndRecovered(t *testing.T) {
	t.Parallel()
	clustertest.BothStores(t, func(t *testing.T, store string) {
		t.Parallel()
		g := newGroups(t, 3, func(_ int, options *Options) { options.Log.Store = store })
		g.startAll()
		g.Agree(g.Propose(0, 20))
		g.snapshotAll()
		g.Agree(g.Propose(20, 30))
		m := g.All[0]
		nodeID := m.node.dir.NodeID
		g.stopAll()
		index, hash := m.machine.StateHash()

		s := openTestStored(t, m)
		survey, err := s.Survey()
		if err != nil || survey.SnapshotIndex == 0 || survey.SnapshotIndex >= index || survey.LastIndex < index ||
			len(survey.Members) != 3 {
			t.Fatalf("survey %+v, %v; entry %d was applied", survey, err, index)
		}
		if _, got := s.replayed(t, index).StateHash(); got != hash {
			t.Errorf("the replay ends with state %x, the member had %x", got, hash)
		}
		kinds := map[EntryKind]int{}
		for i := uint64(1); i <= survey.LastIndex; i++ {
			entry, err := s.Entry(i)
			if err != nil || entry.Index != i {
				t.Fatalf("entry %d: %+v, %v", i, entry, err)
			}
			if kinds[entry.Kind]++; entry.Kind == EntryConfiguration && !slices.Equal(entry.Members, survey.Members) {
				t.Errorf("the configuration in entry %d has %v, the survey %v", i, entry.Members, survey.Members)
			}
		}
		if kinds[EntryCommand] < 30 || kinds[EntryConfiguration] != 1 || kinds[EntryNoop] == 0 {
			t.Errorf("kinds of entries: %v", kinds)
		}

		var first snapshot.Position
		for try := range 2 {
			machine := fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
			if err := s.Recover(Recovery{NodeID: nodeID, Members: []string{nodeID}, ClusterID: "another", Machine: machine}); err != nil {
				t.Fatalf("try %d: %v", try, err)
			}
			after, err := s.Survey()
			if err != nil || after.SnapshotIndex != survey.LastIndex || after.LastIndex != survey.LastIndex ||
				after.LastTerm != survey.LastTerm || !slices.Equal(after.Members, []StoredMember{{nodeID, true}}) {
				t.Errorf("try %d: survey %+v, %v; before it was %+v", try, after, err, survey)
			}
			if _, last, err := s.Bounds(); err != nil || last != 0 {
				t.Errorf("try %d: the log ends at entry %d, %v", try, last, err)
			}
			at := s.replayed(t, after.LastIndex).Position()
			if try == 0 {
				first = at
			}
			if at != first || at.StateHash == hash {
				t.Errorf("try %d ends with the state %+v, the first with %+v, the member had %x", try, at, first, hash)
			}
		}
	})
}
