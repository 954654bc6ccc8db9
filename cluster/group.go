package cluster

import (
	"context"
	"io"
	"time"

	"github.com/seriatimq/seriatim/fsm"
)

// Group is one replicated log with its state machine: today the only one, and
// the seam for more. It hides the consensus library: no type of that library
// appears here. Safe for concurrent use.
type Group interface {
	// Propose hands one encoded entry to the log of the leader. It returns at
	// once when the entry was queued, or with an error when nothing was proposed
	// and never will be. wait blocks until the entry is applied here or its fate is
	// unknown; its error is ErrOutcomeUnknown, or ErrNotLeader when the entry
	// certainly did not enter the log.
	Propose(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	// Barrier waits until everything committed before the call is applied
	// here. It costs a log entry: used once per gain of leadership.
	Barrier(ctx context.Context) error
	// LeaderTerm is the term in which this node leads right now.
	LeaderTerm() (term uint64, leads bool)
	// ConfirmLeadership proves that, at some moment after the call, no other node
	// had been elected in a later term than this one, in which this node leads.
	ConfirmLeadership(ctx context.Context, term uint64) error
	// CommitIndex is the highest index known to be committed.
	CommitIndex() uint64
	// WaitApplied waits until every entry up to index is applied here.
	WaitApplied(ctx context.Context, index uint64) error
	// Leadership is the newest known leader; Leader is empty if unknown.
	Leadership() Leadership
	// LeadershipChanged is closed at the next change of Leadership.
	LeadershipChanged() <-chan struct{}
	// OwnLeadership delivers true on each gain and false on each loss of
	// leadership by this node, never coalesced to fewer losses than gains.
	OwnLeadership() <-chan bool
	// TransferLeadership hands leadership to another voter that is up to date.
	TransferLeadership(ctx context.Context) error
	// Snapshot writes a snapshot now.
	Snapshot(ctx context.Context) error
	// Restore makes a snapshot of size bytes the state of all members, at an
	// index above the given one. For a fresh cluster only, at its leader, and
	// only while nothing is proposed. Content is closed by it.
	Restore(ctx context.Context, index uint64, content io.ReadCloser, size int64) error
	// Stats describes the group for status and metrics.
	Stats() GroupStats
	// Close stops the group and its stores.
	Close() error
}

// Leadership names the leader of a term.
type Leadership struct {
	Term     uint64
	LeaderID string // node id, empty if unknown
	Self     bool   // this node leads
}

// GroupStats is a point-in-time description of a Group.
type GroupStats struct {
	Role              string // "leader", "follower", "candidate", "learner", "waiting" (of no cluster yet), "down"
	Term              uint64
	LeaderID          string
	CommitIndex       uint64
	AppliedIndex      uint64
	LastIndex         uint64
	LastSnapshotIndex uint64
	Members           []Member
	LeaderChanges     uint64
	SnapshotsTaken    uint64
	SnapshotPause     time.Duration // longest that applying waited for the capture of the state
	SnapshotsRestored uint64        // at start or installed by the leader
}

// Member is one node of the replicated configuration.
type Member struct {
	NodeID      string
	Name        string
	Voter       bool
	Leader      bool
	PeerAddr    string // resolved address, empty if unknown
	LastContact int64  // milliseconds since this node, as leader, heard of it; -1 unknown
	LagEntries  int64  // leader's last index minus the member's match index; -1 unknown
}
