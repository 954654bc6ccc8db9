package consensus

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// history notices a leader whose log is not the continuation of this node's. Within one
// cluster there is none: a leader has every entry that was committed before its term, and
// what is applied here is committed. But a recovery from the loss of a majority, or the
// copy of an old data directory, can put two histories into one cluster. The library would
// replace applied entries by others, or exchange the same snapshot with the leader for
// ever, and reads would be answered from a log that no other node has. So such a node ends,
// and leaves its data as they are. Safe for concurrent use.
type history struct {
	applied func() uint64                              // up to which entry this node has applied the log
	term    func() uint64                              // the newest that this node knows
	termAt  func(index uint64) (term uint64, has bool) // of an entry in the log of this node
	foreign func(error)                                // ends the node
	changed func()                                     // matched is later

	// matched is the newest term whose leader has found the end of its log here.
	matched atomic.Uint64

	// refused counts the snapshots of the leader of refusedIn that were refused one after
	// the other.
	refused, refusedIn atomic.Uint64
}

// refusedMax bounds the snapshots of one leader that are refused because they end behind what
// is applied here, without a word of the leader in between that fits this node's log. A
// late one comes once; a leader that needs to send one waits longer after each refusal.
const refusedMax = 8

// contradicts reports whether entries of a leader contradict what is applied here, before
// the library replaces the one by the other. Few messages have entries that are applied.
func (h *history) contradicts(message *raft.AppendEntriesRequest) bool {
	if len(message.Entries) == 0 {
		return false
	}
	applied := h.applied()
	for _, entry := range message.Entries {
		if entry.Index > applied {
			return false
		}
		if h.differs(message.Term, entry.Index, entry.Term) {
			return true
		}
	}
	return false
}

// answered sees what the library answers to a message of a leader, and what was applied
// before it was asked: while a snapshot is being installed, more counts as applied than the
// log agrees with.
func (h *history) answered(message *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse, applied uint64) {
	heartbeat := message.PrevLogEntry == 0 && len(message.Entries) == 0
	switch {
	case heartbeat:
	case answer.Success:
		h.match(message.Term)
	case answer.Term == message.Term && message.PrevLogEntry <= applied:
		h.differs(message.Term, message.PrevLogEntry, message.PrevLogTerm)
	}
}

// match notes that the leader of a term has found the end of its log here.
func (h *history) match(term uint64) {
	for {
		matched := h.matched.Load()
		if term < matched {
			return
		}
		if term == matched {
			break
		}
		if h.matched.CompareAndSwap(matched, term) {
			h.changed()
			break
		}
	}
	if h.refused.Load() != 0 {
		h.refused.Store(0)
	}
}

// differs reports whether a leader's entry is another than the one that is applied here,
// which ends the node.
func (h *history) differs(leaderTerm, index, term uint64) bool {
	own, has := h.termAt(index)
	if !has || own == term || leaderTerm < h.term() {
		return false // of a deposed leader nothing counts
	}
	h.foreign(fmt.Errorf("entry %d, which is applied here, is of term %d here and of term %d at the leader", index, own, term))
	return true
}

// refuses notes that a snapshot of the present leader was refused, as this node has
// applied more and cannot compare its log with the end of it.
func (h *history) refuses(message *raft.InstallSnapshotRequest) {
	if h.differs(message.Term, message.LastLogIndex, message.LastLogTerm) {
		return
	}
	if h.refusedIn.Swap(message.Term) != message.Term {
		h.refused.Store(0)
	}
	if h.refused.Add(1) == refusedMax {
		h.foreign(fmt.Errorf("%d entries are applied here, and the leader goes on sending a snapshot that ends at entry %d", h.applied(), message.LastLogIndex))
	}
}
