package storage

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// follows checks that the log returns the term of the entry before index.
func (h *storeHarness) follows(index uint64) {
	h.t.Helper()
	var entry raft.Log
	if err := h.log.GetLog(index, &entry); err != nil || entry.Index != index || entry.Term != testLogs(index, index)[0].Term {
		h.t.Fatalf("entry %d before the log is %+v, %v", index, entry, err)
	}
}

// lacks checks that the log does not return entries that were removed.
func (h *storeHarness) lacks(from, to uint64) {
	h.t.Helper()
	for index := from; index <= to; index++ {
		if err := h.log.GetLog(index, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			h.t.Fatalf("entry %d, which is not in the log: %v", index, err)
		}
	}
}

// A log whose beginning was removed returns the entry before it. It does not return entries that
// were truncated, or wiped for a snapshot.
func TestCompactedLogKnowsWhatItFollows(t *testing.T) {
	clustertest.BothStores(t, func(t *testing.T, store string) {
		h := newStoreHarness(t, store)
		committed := uint64(0)
		h.log.NoteCommitted(func() uint64 { return committed })
		remove := func(from, to uint64) {
			t.Helper()
			clustertest.Must(t, h.log.DeleteRange(from, to))
		}
		h.store(1, 10)
		committed = 8
		remove(1, 6)
		h.follows(6)
		remove(7, 10) // truncates 9 and 10
		h.follows(6)
		h.lacks(7, 10)
		h.store(7, 12)
		remove(9, 12)
		h.follows(6)
		h.lacks(9, 12)
		h.store(9, 14)
		committed = 14
		remove(7, 14) // up to a snapshot of this node
		h.follows(14)
		h.store(15, 20)
		h.follows(14)
		h.log.BeginAfter(30, testLogs(30, 30)[0].Term)
		h.log.ExpectTruncation(30)
		committed = 30
		remove(15, 20) // for a snapshot from another node
		h.log.truncating.Store(0)
		h.follows(30)
		h.lacks(15, 20)
	})
}
