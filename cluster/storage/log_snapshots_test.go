package storage

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// signalled takes the token of what may have made a snapshot due.
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
	if err := h.log.StoreLogs([]*raft.Log{{Index: index, Term: 1, Type: raft.LogCommand, Data: clustertest.Entry(h.t, int(index))}}); err != nil {
		h.t.Fatal(err)
	}
}

// What is appended while a snapshot is being written, the log being as long as that, makes
// no second one due behind it.
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

// Deleted bodies make one due, as they keep their space until then.
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
	h.log.NoteDeleted(300) // not in what the snapshot is without
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

// One that failed leaves as many bytes to be given back as before, however often it fails: a
// disk that is nearly full goes by them. And it puts off no other one for longer.
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

// A snapshot that is installed while another one is being written gives back what was
// deleted before; the end of the other one does not take that off what is deleted later.
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
