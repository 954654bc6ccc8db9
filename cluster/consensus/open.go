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

// stateMachine is the part of fsm.FSM that a group uses.
type stateMachine interface {
	raft.BatchingFSM
	AppliedIndex() uint64
}

// Options configure a group.
type Options struct {
	ID       uint32
	NodeID   string
	Dir      *storage.GroupDir
	Guard    *storage.DiskGuard
	Network  *peernet.Network // with the group already added
	Machine  *fsm.FSM
	Bodies   *bodies.Store      // of Machine; nil: bodies are in memory
	Log      storage.LogOptions // the group fills in Opened and Logger
	Snapshot SnapshotPolicy
	Timing   Timing
	Clock    environment.Clock
	Logger   *slog.Logger
	Fatal    func(fault.ExitCode, error)
	// Address returns the address of a node, for Stats.
	Address func(nodeID string) string
}

// SnapshotPolicy says when snapshots are taken and how fast they are written. Tests use small values
// to make installs the usual way for a follower to catch up.
type SnapshotPolicy struct {
	LogBytes       int64 // bytes of log after which the next snapshot is due; default 256 MiB
	TrailingBytes  int64 // bytes of log kept before the end of a snapshot for slow followers; default 256 MiB
	BytesPerSecond int64 // rate of writing; default 64 MiB/s
	SyncBytes      int64 // bytes written between two syncs; default 1 MiB
}

// Timing are the timeouts of a group.
type Timing struct {
	Heartbeat time.Duration // a follower without contact for this time campaigns
	Election  time.Duration // a candidate waits for votes for this time
	Lease     time.Duration // a leader without a majority for this time steps down
	Commit    time.Duration // a leader that writes nothing sends the commit index after this time
	Enqueue   time.Duration // a proposal that the log does not accept within this time is not made
	RPC       time.Duration // for one exchange between nodes
}

// Open opens the stores, restores and replays the state, and starts consensus. When it returns,
// this node takes part; a leader may not be elected yet. The group lives until Close, even if ctx
// ends.
func Open(ctx context.Context, options Options) (*Group, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &Group{options: options, ctx: life, cancel: cancel, snapshotSeconds: histogram.New(.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800)}
	openState := func() error { return g.openState(ctx, tapped(ctx, options.Machine)) }
	for _, open := range []func() error{g.openStores, openState, g.openRaft} {
		if err := open(); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.wg.Go(func() { g.watches.leaders.run(g.ctx) })
	g.wg.Go(func() { g.watches.notifier.run(g.ctx) })
	g.wg.Go(func() { g.watches.proof.serve(g.questions) })
	g.wg.Go(g.snapshotWhenDue)
	return g, nil
}

// openStores opens log, term and vote, and snapshots. This node sends no message before all of them
// were read, see openState.
func (g *Group) openStores() (err error) {
	if g.stores.stable, err = storage.OpenStableStore(g.options.Dir, g.options.Guard); err != nil {
		return err
	}
	logs := g.options.Log
	logs.Opened, logs.Monotonic, logs.Logger = g.options.Clock.Wall(), g.options.Clock.Monotonic, g.raftLogger().Named("log")
	if g.stores.log, err = storage.OpenLogStore(g.options.Dir, g.options.Guard, logs); err != nil {
		return err
	}
	logger := g.raftLogger().Named("snapshots")
	g.stores.snapshots, err = storage.OpenSnapshotStore(g.options.Dir, g.options.Guard, g.options.Snapshot.SyncBytes, logger)
	if err != nil {
		return err
	}
	return g.stores.snapshots.Verify()
}

// openRaft starts consensus.
func (g *Group) openRaft() error {
	g.watches.contacts = newContacts(g.options.Clock)
	g.watches.notifier = newCommitNotifier(g.options.Clock, g.options.Timing.Commit, g.raftLogger().Named("transport"))
	var running atomic.Pointer[raft.Raft] // nil until the library is started
	leads := func(term uint64) bool {
		l := running.Load()
		return l != nil && l.State() == raft.Leader && l.CurrentTerm() == term
	}
	g.watches.history = g.ownHistory(func() uint64 {
		if l := running.Load(); l != nil {
			return l.CurrentTerm()
		}
		return math.MaxUint64 // the library has received no message
	})
	g.transport = newTransport(transportOptions{
		Life: g.ctx, Network: g.options.Network, Group: g.options.ID, Timeout: g.options.Timing.RPC,
		Leads: leads, Contacts: g.watches.contacts, Commits: g.watches.notifier,
		History: g.watches.history, Snapshots: g, Refers: g.options.Bodies != nil, Logger: g.raftLogger().Named("transport"),
	})
	g.machine.committed = g.watches.notifier.committed
	g.watches.leaders = newLeadershipWatch(g.options.NodeID, g.transport.links.follow, func() {
		g.options.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster"))
	})
	library, err := raft.NewRaft(g.raftConfig(), g.machine, earlyLog{g.stores.log, g.watches.notifier.begun, &g.writing}, g.stores.stable,
		&g.stores.librarySnaps, g.transport)
	if err != nil {
		return fmt.Errorf("start consensus: %w", errors.Join(err, g.options.Guard.Poisoned()))
	}
	running.Store(library)
	g.raft = library
	g.machine.live.Store(true)
	g.watches.proof = &leadershipProof{
		nodeID: g.options.NodeID, term: library.CurrentTerm, voters: g.Voters, timeout: g.options.Timing.Heartbeat, life: g.ctx,
		askers: make(map[string]*termAsker),
		dial: func(ctx context.Context, nodeID string) (net.Conn, error) {
			return g.options.Network.Dial(ctx, nodeID, peernet.KindTerms, g.options.ID)
		},
	}
	g.questions = g.options.Network.Listener(peernet.KindTerms, g.options.ID)
	g.watches.leaders.source = library
	g.watches.notifier.watch(library)
	observer := g.watches.leaders.observer()
	g.raft.RegisterObserver(observer)
	g.watches.transfers = &transferWatch{
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

// raftConfig returns the configuration described in raft.md A12.
func (g *Group) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.options.NodeID)
	c.HeartbeatTimeout = g.options.Timing.Heartbeat
	c.ElectionTimeout = g.options.Timing.Election
	c.LeaderLeaseTimeout = g.options.Timing.Lease
	c.CommitTimeout = max(keepAlive, g.options.Timing.Commit)
	c.MaxAppendEntries = appendEntriesMax
	// The group committer batches. A buffered channel would break the rule that a timeout means
	// that nothing was proposed.
	c.BatchApplyCh = false
	c.ShutdownOnRemove = true
	// Bytes of log trigger snapshots, see snapshotWhenDue.
	c.SnapshotThreshold = math.MaxUint64
	c.SnapshotInterval = 24 * time.Hour
	c.TrailingLogs = math.MaxUint64
	c.NoSnapshotRestoreOnStart = true // openState restored it
	c.NoLegacyTelemetry = true
	c.NotifyCh = g.watches.leaders.notify
	c.Logger = g.raftLogger()
	return c
}

// Bootstrap writes the first entry of the log: the initial members, all voters. Call it on one of
// them. It starts the first election.
func (g *Group) Bootstrap(initial []string) error {
	var members raft.Configuration
	for _, id := range initial {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	if err := g.raft.BootstrapCluster(members).Error(); err != nil {
		return err
	}
	// No other node can have the first entry, so the election need not wait.
	if err := g.Campaign(); err != nil {
		g.options.Logger.Debug("the bootstrapping node did not begin an election at once", "error", err)
	}
	return nil
}
