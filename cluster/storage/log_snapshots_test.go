package storage

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// signalled consumes the signal.
func (h *storeHarness) signalled() bool {
	select {
	case <-h.log.WhenSnapshotDue():
		return true
	default:
		return false
	}
}

func (h *storeHarness) appendEntry(index uint64) {
	h.t.Helper()
	if err := h.log.StoreLogs([]*raft.Log{{Index: index, Term: 1, Type: raft.LogCommand,
		Data: clustertest.Entry(h.t, int(index))}}); err != nil {
		h.t.Fatal(err)
	}
}

// Entries appended while a snapshot is being written do not make a second one due right after it.
func TestASnapshotIsDueOnce(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	h.appendEntry(1)
	h.log.SnapshotDueAfter(h.log.Appended() + 1)
	if h.signalled() {
		h.log.SnapshotDue()
	}
	h.appendEntry(2)
	if !h.signalled() || !h.log.SnapshotDue() {
		t.Fatal("none is due")
	}
	appended := h.log.Appended()
	h.appendEntry(3)
	h.log.SnapshotTaken(appended, 0, appended)
	if h.signalled() && h.log.SnapshotDue() {
		t.Error("one is due again")
	}
	h.log.DemandSnapshot()
	if !h.signalled() || !h.log.SnapshotDue() || h.log.SnapshotDue() {
		t.Error("one that was demanded is not due, or more than once")
	}
}

// Deleted bodies make a snapshot due, because it frees their space.
func TestASnapshotIsDueForDeletedBodies(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	h.log.SnapshotDueAfter(1000)
	h.log.NoteDeleted(999)
	if h.signalled() {
		t.Error("one is due too early")
	}
	h.log.NoteDeleted(1)
	if !h.signalled() || !h.log.SnapshotDue() {
		t.Fatal("none is due")
	}
	before := h.log.Deleted()
	h.log.NoteDeleted(300) // the snapshot still contains them
	h.log.SnapshotTaken(h.log.Appended(), before, 1000)
	if h.signalled(); h.log.SnapshotDue() || h.log.Unreclaimed() != 300 {
		t.Errorf("%d deleted bytes wait after it, want 300", h.log.Unreclaimed())
	}
	h.log.NoteDeleted(700)
	h.log.PostponeSnapshot(2) // it failed
	if h.log.SnapshotDue() {
		t.Error("one that failed is due at once")
	}
	if h.log.NoteDeleted(500); !h.log.SnapshotDue() {
		t.Error("one that failed is not due again")
	}
}

// Failed snapshots leave the bytes to reclaim as they were, and postpone no other snapshot for
// longer.
func TestAFailedSnapshotForgetsNothing(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	h.log.SnapshotDueAfter(1000)
	h.log.NoteDeleted(400)
	for range 20 {
		h.log.DemandSnapshot()
		if !h.signalled() || !h.log.SnapshotDue() {
			t.Fatal("one that was demanded is not due")
		}
		h.log.PostponeSnapshot(8)
	}
	if deleted := h.log.Unreclaimed(); deleted != 400 {
		t.Errorf("%d deleted bytes wait, want 400", deleted)
	}
	if h.log.NoteDeleted(600); !h.signalled() || !h.log.SnapshotDue() {
		t.Error("none is due")
	}
}

// A snapshot that is installed while another one is being written covers earlier deletions. The end
// of the other one does not subtract from later deletions.
func TestASnapshotThatARestoreOvertakes(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	h.log.SnapshotDueAfter(1000)
	h.log.NoteDeleted(5000)
	appended, deleted := h.log.Appended(), h.log.Deleted()
	h.log.ForgetDeleted()
	h.log.SnapshotTaken(appended, deleted, 1000)
	if waits := h.log.Unreclaimed(); waits != 0 {
		t.Errorf("%d deleted bytes wait, want none", waits)
	}
	h.signalled()
	if h.log.NoteDeleted(1000); !h.signalled() || !h.log.SnapshotDue() {
		t.Error("none is due")
	}
}
