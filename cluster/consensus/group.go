package consensus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// Group is one replicated log with its state machine. No type of the consensus library appears in
// its exported API. Safe for concurrent use.
type Group struct {
	options   Options
	stores    stores
	machine   *machine
	transport *transport
	raft      *raft.Raft
	stopped   raft.Future  // of raft, once BeginClose was called
	questions net.Listener // for questions of other nodes about terms
	writing   writing
	// campaigning is held during Campaign.
	campaigning sync.Mutex
	watches     watches
	intakes     intakes

	snapshotting    atomic.Bool // one is being taken
	dead            deadLog
	snapshotsTaken  atomic.Uint64
	snapshotSeconds *histogram.Histogram

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// stores are the files of a group.
type stores struct {
	stable       *storage.StableStore
	log          *storage.LogStore
	snapshots    *storage.SnapshotStore
	librarySnaps librarySnapshots
}

// watches observe the library on behalf of a group.
type watches struct {
	leaders   *leadershipWatch
	transfers *transferWatch
	contacts  *contacts
	notifier  *commitNotifier
	history   *history
	proof     *leadershipProof
}

// NoteApplied wakes callers that wait for an applied index. It never blocks. Calling it is
// optional: the wrapper around the state machine does the same a moment later.
func (g *Group) NoteApplied(index uint64) { g.machine.advance(index) }

// Barrier waits until everything committed before the call is applied here.
func (g *Group) Barrier(ctx context.Context) error {
	return g.awaitEntry(ctx, g.raft.Barrier(g.options.Timing.Enqueue))
}

// LeaderTerm returns the term in which this node leads now. Terms only grow, so the same term
// before and after an action covers it.
func (g *Group) LeaderTerm() (term uint64, leads bool) {
	term = g.raft.CurrentTerm()
	return term, g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term
}

// ConfirmLeadership asks a majority of the voters, see leadershipProof. Reads of followers wait for
// that, so it also sends them the commit index.
func (g *Group) ConfirmLeadership(ctx context.Context, term uint64) error {
	if now, leads := g.LeaderTerm(); !leads || now != term {
		return fmt.Errorf("%w: its term %d has ended", fault.ErrNotLeader, term)
	}
	err := g.watches.proof.confirm(ctx, term)
	g.watches.notifier.now()
	return err
}

// awaitEntry waits for the outcome of a log entry, and passes it to transferWatch. During a
// leadership transfer the library refuses entries, but no other calls.
func (g *Group) awaitEntry(ctx context.Context, future raft.Future) error {
	return g.await(ctx, observedFuture{Future: future, observe: g.watches.transfers.observe})
}

type observedFuture struct {
	raft.Future
	observe func(error)
}

func (f observedFuture) Error() error {
	err := f.Future.Error()
	f.observe(err)
	return err
}

// await waits for the outcome of a call to the library. When the library stops, some futures never
// complete, so the end of the group is an outcome, too.
func (g *Group) await(ctx context.Context, future raft.Future) error {
	outcome := make(chan error, 1) // buffered, because the caller may be gone
	go func() { outcome <- future.Error() }()
	select {
	case err := <-outcome:
		return translate(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ctx.Done():
		return fmt.Errorf("%w: the group is closed", fault.ErrOutcomeUnknown)
	}
}

// FirstIndex returns the index of the oldest entry in the log; 0 if there is none.
func (g *Group) FirstIndex() (uint64, error) { return g.stores.log.FirstIndex() }

// CommitIndex returns the highest index known to be committed.
func (g *Group) CommitIndex() uint64 { return g.raft.CommitIndex() }

// WaitApplied waits until every entry up to index is applied here. The library's applied index
// counts entries passed to the state machine, and some entries never reach it.
func (g *Group) WaitApplied(ctx context.Context, index uint64) error {
	return g.wait(ctx, func() bool { return g.appliedUpTo(index) })
}

// WaitRead waits until index is applied, which another node returned as the leader of term. The
// index is valid here only after that leader, or a later one, has matched the end of its log with
// this node's: the applied entries could be of another history.
func (g *Group) WaitRead(ctx context.Context, term, index uint64) error {
	return g.wait(ctx, func() bool {
		if g.watches.history.matched.Load() >= term {
			return g.appliedUpTo(index)
		}
		now, leads := g.LeaderTerm()
		return leads && now >= term && g.appliedUpTo(index)
	})
}

// wait waits until holds reports true. Applying entries changes its result.
func (g *Group) wait(ctx context.Context, holds func() bool) error {
	for {
		moved := g.machine.moved.Changed()
		if holds() {
			return nil
		}
		// Entries that do not reach the state machine commit without an event, so holds is checked
		// once per commit interval.
		timer := time.NewTimer(g.options.Timing.Commit)
		select {
		case <-moved:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-g.ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: the group is closed", fault.ErrUnavailable)
		}
		timer.Stop()
	}
}

// appliedUpTo reports whether everything up to index is committed, and no entry of it still has to
// reach the state machine. A committed entry that the log lacks is in a snapshot, whose state is that
// of the machine: the log is compacted after that.
func (g *Group) appliedUpTo(index uint64) bool {
	for ; index > g.machine.applied.Load(); index-- {
		if index > g.raft.CommitIndex() {
			return false
		}
		kind, err := g.stores.log.Kind(index)
		if errors.Is(err, raft.ErrLogNotFound) {
			return true
		}
		if err != nil || (kind != raft.LogNoop && kind != raft.LogBarrier) {
			return false
		}
	}
	return true
}

// ownHistory returns the history of this node's log.
func (g *Group) ownHistory(term func() uint64) *history {
	return &history{
		applied: g.machine.applied.Load,
		term:    term,
		termAt: func(index uint64) (uint64, bool) {
			var entry raft.Log
			err := g.stores.log.GetLog(index, &entry)
			return entry.Term, err == nil && entry.Term > 0 // the term is 0 until the log is truncated
		},
		foreign: func(why error) { g.options.Fatal(fault.ExitOtherHistory, fmt.Errorf("%w: %w", ErrOtherHistory, why)) },
		changed: g.machine.moved.Notify,
	}
}

// ErrOtherHistory: the log of this node is not the beginning of its leader's.
var ErrOtherHistory = errors.New("the log of this node contradicts that of its cluster, " +
	"as after a recovery that kept another node's log. " +
	"Nothing was changed: keep a copy of the data directory, and start this node with an empty one, so that it joins")

// Leadership returns the newest known leader.
func (g *Group) Leadership() Leadership { return g.watches.leaders.leadership() }

// LeadershipChanged returns a channel that is closed at the next change of Leadership.
func (g *Group) LeadershipChanged() <-chan struct{} { return g.watches.leaders.changed.Changed() }

// OwnLeadership delivers each gain and loss of leadership by this node.
func (g *Group) OwnLeadership() <-chan bool { return g.watches.leaders.own }

// TransferLeadership transfers leadership to another voter that is up to date.
func (g *Group) TransferLeadership(ctx context.Context) error {
	return g.await(ctx, g.raft.LeadershipTransfer())
}

// BeginClose ends pending calls with unknown outcomes and leaves the group. It does not wait; Close
// does.
func (g *Group) BeginClose() {
	g.cancel()
	if g.raft != nil && g.stopped == nil {
		g.stopped = g.raft.Shutdown()
		// Exchanges with unresponsive nodes must not delay the stop.
		g.transport.links.disconnect()
	}
}

// Close stops the group and its stores, even if it did not open completely. Close the connections
// of the network before: those to unresponsive nodes delay the stop.
func (g *Group) Close() error {
	g.BeginClose()
	var problems []error
	if g.stopped != nil {
		problems = append(problems, g.stopped.Error())
		g.watches.transfers.close()
	} else if g.transport != nil {
		problems = append(problems, g.transport.Close())
	}
	if g.questions != nil {
		problems = append(problems, g.questions.Close())
	}
	if g.watches.proof != nil {
		g.watches.proof.close()
	}
	g.wg.Wait()
	if g.stores.log != nil {
		problems = append(problems, g.stores.log.Close())
	}
	if g.stores.stable != nil {
		problems = append(problems, g.stores.stable.Close())
	}
	return errors.Join(problems...)
}
