package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
)

// stateMachine is what a group needs of *fsm.FSM.
type stateMachine interface {
	raft.BatchingFSM
	AppliedIndex() uint64
}

// Options are what a group is opened with.
type Options struct {
	ID       uint32
	NodeID   string
	Dir      *storage.GroupDir
	Guard    *storage.DiskGuard
	Network  *peernet.Network // to which the group was added
	Machine  *fsm.FSM
	Bodies   *bodies.Store      // that of Machine; nil: its bodies are in memory
	Log      storage.LogOptions // the group fills in Opened and Logger
	Snapshot SnapshotPolicy
	Timing   Timing
	Clock    environment.Clock
	Logger   *slog.Logger
	Fatal    func(fault.ExitCode, error)
	// Address is where a node is reached, for Stats.
	Address func(nodeID string) string
}

// SnapshotPolicy says when snapshots are taken and how fast they are written.
// Small values are allowed: tests need them to make installs the normal way
// for a follower to catch up.
type SnapshotPolicy struct {
	LogBytes       int64 // bytes of log since the last snapshot that cause the next; default 256 MiB
	TrailingBytes  int64 // bytes of log kept behind a snapshot for slow followers; default 256 MiB
	BytesPerSecond int64 // pace of writing; default 64 MiB/s
	SyncBytes      int64 // bytes written between two syncs; default 1 MiB
}

// Timing are the timeouts of a group.
type Timing struct {
	Heartbeat time.Duration // without contact for so long a follower asks for an election
	Election  time.Duration // a candidate waits so long for votes
	Lease     time.Duration // without a majority for so long a leader steps down
	Commit    time.Duration // a leader that writes no more tells followers what is committed after this time
	Enqueue   time.Duration // a proposal not taken by the log within this time was not made
	RPC       time.Duration // one exchange between nodes
}

// Open opens the stores, restores and replays the state, and starts consensus.
// It returns when this node takes part; there need not be a leader yet. The group
// lives until Close, whatever becomes of ctx.
func Open(ctx context.Context, options Options) (*Group, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &Group{options: options, ctx: life, cancel: cancel, snapshotSeconds: histogram.New(.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800)}
	openState := func() error { return g.openState(ctx, tapped(ctx, options.Machine)) }
	for _, open := range []func() error{g.openStores, openState, g.openRaft} {
		if err := open(); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.wg.Go(func() { g.leaders.run(g.ctx) })
	g.wg.Go(func() { g.notifier.run(g.ctx) })
	g.wg.Go(func() { g.proof.serve(g.questions) })
	g.wg.Go(g.snapshotWhenDue)
	return g, nil
}

// openStores opens log, term and vote, and snapshots. All of them are read before
// this node says a word to the others, see openState.
func (g *Group) openStores() (err error) {
	if g.stable, err = storage.OpenStableStore(g.options.Dir, g.options.Guard); err != nil {
		return err
	}
	logs := g.options.Log
	logs.Opened, logs.Monotonic, logs.Logger = g.options.Clock.Wall(), g.options.Clock.Monotonic, g.raftLogger().Named("log")
	if g.log, err = storage.OpenLogStore(g.options.Dir, g.options.Guard, logs); err != nil {
		return err
	}
	if g.snapshots, err = storage.OpenSnapshotStore(g.options.Dir, g.options.Guard, g.options.Snapshot.SyncBytes, g.raftLogger().Named("snapshots")); err != nil {
		return err
	}
	return g.snapshots.Verify()
}

// openRaft starts consensus.
func (g *Group) openRaft() error {
	g.contacts = newContacts(g.options.Clock)
	g.notifier = newCommitNotifier(g.options.Clock, g.options.Timing.Commit, g.raftLogger().Named("transport"))
	var running atomic.Pointer[raft.Raft] // nil until there is one
	leads := func(term uint64) bool {
		l := running.Load()
		return l != nil && l.State() == raft.Leader && l.CurrentTerm() == term
	}
	g.history = g.ownHistory(func() uint64 {
		if l := running.Load(); l != nil {
			return l.CurrentTerm()
		}
		return math.MaxUint64 // no message has come to the library
	})
	g.transport = newTransport(transportOptions{
		Life: g.ctx, Network: g.options.Network, Group: g.options.ID, Timeout: g.options.Timing.RPC, Leads: leads, Contacts: g.contacts, Commits: g.notifier,
		History: g.history, Snapshots: g, Refers: g.options.Bodies != nil, Logger: g.raftLogger().Named("transport"),
	})
	g.machine.committed = g.notifier.committed
	g.leaders = newLeadershipWatch(g.options.NodeID, g.transport.links.follow, func() {
		g.options.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster"))
	})
	library, err := raft.NewRaft(g.raftConfig(), g.machine, aheadLog{g.log, g.notifier.begun, &g.writing}, g.stable, &g.librarySnaps, g.transport)
	if err != nil {
		return fmt.Errorf("start consensus: %w", errors.Join(err, g.options.Guard.Poisoned()))
	}
	running.Store(library)
	g.raft = library
	g.machine.live.Store(true)
	g.proof = &leadershipProof{
		nodeID: g.options.NodeID, term: library.CurrentTerm, voters: g.Voters, timeout: g.options.Timing.Heartbeat, life: g.ctx,
		askers: make(map[string]*termAsker),
		dial: func(ctx context.Context, nodeID string) (net.Conn, error) {
			return g.options.Network.Dial(ctx, nodeID, peernet.KindTerms, g.options.ID)
		},
	}
	g.questions = g.options.Network.Listener(peernet.KindTerms, g.options.ID)
	g.leaders.source = library
	g.notifier.watch(library)
	observer := g.leaders.observer()
	g.raft.RegisterObserver(observer)
	g.transfers = &transferWatch{
		timeout: transferTimeoutFactor * g.options.Timing.Election,
		leads:   func() bool { return g.raft.State() == raft.Leader },
		probe:   func() error { return g.raft.Barrier(g.options.Timing.Enqueue).Error() },
		fatal:   g.options.Fatal,
	}
	return nil
}

func (g *Group) raftLogger() hclog.Logger {
	return storage.NewLibraryLogger(g.ctx, g.options.Logger)
}

// raftConfig follows raft.md A12.
func (g *Group) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.options.NodeID)
	c.HeartbeatTimeout = g.options.Timing.Heartbeat
	c.ElectionTimeout = g.options.Timing.Election
	c.LeaderLeaseTimeout = g.options.Timing.Lease
	c.CommitTimeout = max(keepAlive, g.options.Timing.Commit)
	c.MaxAppendEntries = appendEntriesMax
	// We batch ourselves; a buffered channel would break "a timeout means
	// that nothing was proposed".
	c.BatchApplyCh = false
	c.ShutdownOnRemove = true
	// Snapshots are triggered by bytes of log, see snapshotWhenDue.
	c.SnapshotThreshold = math.MaxUint64
	c.SnapshotInterval = 24 * time.Hour
	c.TrailingLogs = math.MaxUint64
	c.NoSnapshotRestoreOnStart = true // openState has restored it
	c.NoLegacyTelemetry = true
	c.NotifyCh = g.leaders.notify
	c.Logger = g.raftLogger()
	return c
}

// Bootstrap writes the first entry of the log: the initial members, all voters. It
// is called on one of them, and begins the first election.
func (g *Group) Bootstrap(initial []string) error {
	var members raft.Configuration
	for _, id := range initial {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	if err := g.raft.BootstrapCluster(members).Error(); err != nil {
		return err
	}
	// Nobody else can have the first entry, so there is nothing to wait for.
	if err := g.Campaign(); err != nil {
		g.options.Logger.Debug("the bootstrapping node did not begin an election at once", "error", err)
	}
	return nil
}
