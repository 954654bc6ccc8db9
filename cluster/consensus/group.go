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

// Group is one replicated log with its state machine. It hides the consensus
// library: no type of that library appears in what it exports. Safe for concurrent
// use.
type Group struct {
	options Options
	stores
	machine   *machine
	transport *transport
	raft      *raft.Raft
	stopped   raft.Future  // of raft, once it is being stopped
	questions net.Listener // of other nodes about terms
	writing   writing
	// campaigning is held while this node is told to stand for election.
	campaigning sync.Mutex
	watches
	intakes intakes

	snapshotting    atomic.Bool // one is being taken
	dead            deadLog
	snapshotsTaken  atomic.Uint64
	snapshotSeconds *histogram.Histogram

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// stores are what a group keeps on disk.
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

// NoteApplied wakes those who wait for an applied index. It never blocks. It may
// be left out: the wrapper around the state machine does the same a moment later.
func (g *Group) NoteApplied(index uint64) { g.machine.advance(index) }

// Barrier waits until everything committed before the call is applied here.
func (g *Group) Barrier(ctx context.Context) error {
	return g.awaitEntry(ctx, g.raft.Barrier(g.options.Timing.Enqueue))
}

// LeaderTerm is the term in which this node leads right now. A term read twice is
// that of what was read in between: terms only grow.
func (g *Group) LeaderTerm() (term uint64, leads bool) {
	term = g.raft.CurrentTerm()
	return term, g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term
}

// ConfirmLeadership asks a majority of the voters, see leadershipProof. As that is what
// reads of followers wait for, they are told what is committed as well.
func (g *Group) ConfirmLeadership(ctx context.Context, term uint64) error {
	if now, leads := g.LeaderTerm(); !leads || now != term {
		return fmt.Errorf("%w: its term %d has ended", fault.ErrNotLeader, term)
	}
	err := g.proof.confirm(ctx, term)
	g.notifier.now()
	return err
}

// awaitEntry waits for the outcome of something that becomes an entry of the
// log. Only these are refused while a leadership transfer is under way.
func (g *Group) awaitEntry(ctx context.Context, future raft.Future) error {
	return g.await(ctx, observedFuture{Future: future, observe: g.transfers.observe})
}

// observedFuture shows its outcome to somebody else, too.
type observedFuture struct {
	raft.Future
	observe func(error)
}

func (f observedFuture) Error() error {
	err := f.Future.Error()
	f.observe(err)
	return err
}

// await waits for the outcome of something the library does. Some outcomes are
// never told when the library stops, so the end of the group is one, too.
func (g *Group) await(ctx context.Context, future raft.Future) error {
	outcome := make(chan error, 1) // one outcome, for which nobody may wait any more
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

// FirstIndex is the index of the oldest entry in the log, 0 if there is none.
func (g *Group) FirstIndex() (uint64, error) { return g.log.FirstIndex() }

// CommitIndex is the highest index known to be committed.
func (g *Group) CommitIndex() uint64 { return g.raft.CommitIndex() }

// WaitApplied waits until every entry up to index is applied here. The
// library's own applied index means "handed to the state machine", and some
// entries never reach the state machine at all.
func (g *Group) WaitApplied(ctx context.Context, index uint64) error {
	return g.wait(ctx, func() bool { return g.appliedUpTo(index) })
}

// WaitRead is WaitApplied for an index that another node gave as the leader of a term. It
// means nothing here before that leader, or a later one, has found the end of its log in
// the log of this node: what is applied here could be of another history.
func (g *Group) WaitRead(ctx context.Context, term, index uint64) error {
	return g.wait(ctx, func() bool {
		if g.history.matched.Load() >= term {
			return g.appliedUpTo(index)
		}
		now, leads := g.LeaderTerm()
		return leads && now >= term && g.appliedUpTo(index)
	})
}

// wait waits until something holds that applying entries brings about.
func (g *Group) wait(ctx context.Context, holds func() bool) error {
	for {
		moved := g.machine.moved.Changed()
		if holds() {
			return nil
		}
		// Entries that do not reach the state machine are committed without
		// an event; one look per commit interval catches them.
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

// appliedUpTo reports whether everything up to index is committed and nothing
// of it is still to reach the state machine.
func (g *Group) appliedUpTo(index uint64) bool {
	for ; index > g.machine.applied.Load(); index-- {
		if index > g.raft.CommitIndex() {
			return false
		}
		kind, err := g.log.Kind(index)
		if err != nil || (kind != raft.LogNoop && kind != raft.LogBarrier) {
			return false
		}
	}
	return true
}

// ownHistory compares what leaders send with the log of this node.
func (g *Group) ownHistory(term func() uint64) *history {
	return &history{
		applied: g.machine.applied.Load,
		term:    term,
		termAt: func(index uint64) (uint64, bool) {
			var entry raft.Log
			err := g.log.GetLog(index, &entry)
			return entry.Term, err == nil && entry.Term > 0 // the log shows one of no term until it is truncated
		},
		foreign: func(why error) { g.options.Fatal(fault.ExitOtherHistory, fmt.Errorf("%w: %w", ErrOtherHistory, why)) },
		changed: g.machine.moved.Notify,
	}
}

// ErrOtherHistory says what to do with a node whose log is not the beginning of its leader's.
var ErrOtherHistory = errors.New("the log of this node and that of its cluster contradict each other, as after a recovery that kept another node's; " +
	"nothing of it was changed: keep a copy of the data directory, and start this node with an empty one, so that it joins")

// Leadership is the newest known leader.
func (g *Group) Leadership() Leadership { return g.leaders.leadership() }

// LeadershipChanged is closed at the next change of Leadership.
func (g *Group) LeadershipChanged() <-chan struct{} { return g.leaders.leadershipChanged() }

// OwnLeadership delivers each gain and loss of leadership by this node.
func (g *Group) OwnLeadership() <-chan bool { return g.leaders.own }

// TransferLeadership hands leadership to another voter that is up to date.
func (g *Group) TransferLeadership(ctx context.Context) error {
	return g.await(ctx, g.raft.LeadershipTransfer())
}

// BeginClose ends what is under way, with unknown outcomes, and takes part in
// nothing any more. It does not wait; Close does.
func (g *Group) BeginClose() {
	g.cancel()
	if g.raft != nil && g.stopped == nil {
		g.stopped = g.raft.Shutdown()
		// Exchanges with nodes that do not answer must not hold up the stop.
		g.transport.disconnect()
	}
}

// Close stops the group and its stores. It also closes a group that did not open
// completely. The connections of the network should be closed before, as those to
// nodes that do not answer hold up the stop.
func (g *Group) Close() error {
	g.BeginClose()
	var problems []error
	if g.stopped != nil {
		problems = append(problems, g.stopped.Error())
		g.transfers.close()
	} else if g.transport != nil {
		problems = append(problems, g.transport.Close())
	}
	if g.questions != nil {
		problems = append(problems, g.questions.Close())
	}
	if g.proof != nil {
		g.proof.close()
	}
	g.wg.Wait()
	if g.log != nil {
		problems = append(problems, g.log.Close())
	}
	if g.stable != nil {
		problems = append(problems, g.stable.Close())
	}
	return errors.Join(problems...)
}
