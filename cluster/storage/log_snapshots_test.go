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
	if h.signalled(); h.log.SnapshotDue() || h.log.Deleted() != 300 {
		t.Errorf("%d deleted bytes wait after it, want 300", h.log.Deleted())
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
