package consensus

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// history detects a leader whose log does not continue this node's. Within one cluster that is
// impossible: a leader has every entry committed before its term. But a recovery from the loss of a
// majority, or a copy of an old data directory, can put two histories into one cluster. The library
// would replace applied entries, or exchange the same snapshot with the leader for ever, and reads
// would be answered from a log of this node alone. So the node ends and leaves its data unchanged.
// Safe for concurrent use.
type history struct {
	applied func() uint64                              // the last applied entry
	term    func() uint64                              // the newest known term
	termAt  func(index uint64) (term uint64, has bool) // of an entry in this node's log
	foreign func(error)                                // ends the node
	changed func()                                     // called when matched grows

	// matched is the newest term whose leader matched the end of its log here.
	matched atomic.Uint64

	// refused counts consecutive refused snapshots of the leader of term refusedIn.
	refused, refusedIn atomic.Uint64
}

// refusedMax bounds the consecutive snapshots of one leader that are refused because they end
// before the last applied entry, without a matching message in between. A late one arrives once; a
// leader that needs to send one waits longer after each refusal.
const refusedMax = 8

// contradicts reports whether entries of a leader differ from applied ones. It runs before the
// library replaces entries. Few messages have applied entries.
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

// answered inspects the library's answer to a leader's message. applied is the last applied entry
// before the message: during the installation of a snapshot, applied may exceed the log.
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

// match records that the leader of a term matched the end of its log here.
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

// differs reports whether a leader's entry differs from the applied one, and then ends the node.
func (h *history) differs(leaderTerm, index, term uint64) bool {
	own, has := h.termAt(index)
	if !has || own == term || leaderTerm < h.term() {
		return false // a deposed leader is ignored
	}
	h.foreign(fmt.Errorf("entry %d, which is applied here, is of term %d here and of term %d at the leader", index, own, term))
	return true
}

// refuses records that a snapshot of the current leader was refused: this node has applied more,
// and its log does not reach back to the end of the snapshot.
func (h *history) refuses(message *raft.InstallSnapshotRequest) {
	if h.differs(message.Term, message.LastLogIndex, message.LastLogTerm) {
		return
	}
	if h.refusedIn.Swap(message.Term) != message.Term {
		h.refused.Store(0)
	}
	if h.refused.Add(1) == refusedMax {
		h.foreign(fmt.Errorf("%d entries are applied here, but the leader keeps sending a snapshot that ends at entry %d",
			h.applied(), message.LastLogIndex))
	}
}
