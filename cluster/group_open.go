package cluster

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

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// stateMachine is what the group needs of *fsm.FSM.
type stateMachine interface {
	raft.BatchingFSM
	AppliedIndex() uint64
}

// groupOptions are what a group is opened with.
type groupOptions struct {
	ID       uint32
	NodeID   string
	Dir      *storage.GroupDir
	Guard    *storage.DiskGuard
	Network  *peernet.Network // to which the group was added
	Machine  stateMachine
	Log      storage.LogOptions
	Snapshot SnapshotPolicy
	Timing   Timing
	Clock    environment.Clock
	Logger   *slog.Logger
	Fatal    func(fault.ExitCode, error)
	// Address is where a node is reached, for Stats.
	Address func(nodeID string) string
}

// openGroup opens the stores, restores and replays the state, and starts consensus.
// It returns when this node takes part; there need not be a leader yet. The group
// lives until Close, whatever becomes of ctx.
func openGroup(ctx context.Context, options groupOptions) (*raftGroup, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &raftGroup{options: options, ctx: life, cancel: cancel}
	openState := func() error { return g.openState(ctx) }
	for _, open := range []func() error{g.openStores, openState, g.openRaft} {
		if err := open(); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.wg.Go(func() { g.leaders.run(g.ctx) })
	g.wg.Go(func() { g.teller.Run(g.ctx) })
	g.wg.Go(func() { g.proof.serve(g.questions) })
	g.wg.Go(g.snapshotWhenDue)
	return g, nil
}

// openStores opens log, term and vote, and snapshots. All of them are read before
// this node says a word to the others, see openState.
func (g *raftGroup) openStores() (err error) {
	if g.stable, err = storage.OpenStableStore(g.options.Dir, g.options.Guard); err != nil {
		return err
	}
	logs := g.options.Log
	logs.Opened, logs.Logger = g.options.Clock.Wall(), g.raftLogger().Named("log")
	if g.log, err = storage.OpenLogStore(g.options.Dir, g.options.Guard, logs); err != nil {
		return err
	}
	if g.snapshots, err = storage.OpenSnapshotStore(g.options.Dir, g.options.Guard, g.options.Snapshot.SyncBytes, g.raftLogger().Named("snapshots")); err != nil {
		return err
	}
	return g.snapshots.Verify()
}

// openRaft starts consensus.
func (g *raftGroup) openRaft() error {
	g.contacts = consensus.NewContacts(g.options.Clock)
	g.teller = consensus.NewCommitNotifier(g.options.Clock, g.options.Timing.Commit, g.raftLogger().Named("transport"))
	var library atomic.Pointer[raft.Raft] // nil until there is one
	leads := func(term uint64) bool {
		l := library.Load()
		return l != nil && l.State() == raft.Leader && l.CurrentTerm() == term
	}
	g.transport = consensus.NewTransport(consensus.TransportOptions{
		Network: g.options.Network, Group: g.options.ID, Timeout: g.options.Timing.RPC, Leads: leads, Contacts: g.contacts, Commits: g.teller,
		Logger: g.raftLogger().Named("transport"),
	})
	g.machine.committed = g.teller.Committed
	g.leaders = newLeadershipWatch(g.options.NodeID, func() {
		g.options.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster"))
	})
	consensus, err := raft.NewRaft(g.raftConfig(), g.machine, g.log, g.stable, &g.librarySnaps, g.transport)
	if err != nil {
		return fmt.Errorf("start consensus: %w", errors.Join(err, g.options.Guard.Poisoned()))
	}
	library.Store(consensus)
	g.raft = consensus
	g.machine.live.Store(true)
	g.proof = &readProof{
		nodeID: g.options.NodeID, term: consensus.CurrentTerm, voters: g.voters, timeout: g.options.Timing.Heartbeat, life: g.ctx,
		askers: make(map[string]*termAsker),
		dial: func(ctx context.Context, nodeID string) (net.Conn, error) {
			return g.options.Network.Dial(ctx, nodeID, peernet.KindTerms, g.options.ID)
		},
	}
	g.questions = g.options.Network.Listener(peernet.KindTerms, g.options.ID)
	g.leaders.source = consensus
	g.teller.Watch(consensus)
	observer := g.leaders.observer()
	g.raft.RegisterObserver(observer)
	g.transfers = &transferWatch{
		patience: transferPatience * g.options.Timing.Election,
		leads:    func() bool { return g.raft.State() == raft.Leader },
		probe:    func() error { return g.raft.Barrier(g.options.Timing.Enqueue).Error() },
		fatal:    g.options.Fatal,
	}
	return nil
}

func (g *raftGroup) raftLogger() hclog.Logger {
	return storage.NewLibraryLogger(g.ctx, g.options.Logger)
}

// raftConfig follows raft.md A12.
func (g *raftGroup) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.options.NodeID)
	c.HeartbeatTimeout = g.options.Timing.Heartbeat
	c.ElectionTimeout = g.options.Timing.Election
	c.LeaderLeaseTimeout = g.options.Timing.Lease
	c.CommitTimeout = max(consensus.KeepAlive, g.options.Timing.Commit)
	c.MaxAppendEntries = consensus.AppendEntriesMax
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

// memberCount is how many members the newest configuration has.
func (g *raftGroup) memberCount() int { return len(g.raft.GetConfiguration().Configuration().Servers) }

// voters are the node ids of the voters.
func (g *raftGroup) voters() []string {
	var ids []string
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			ids = append(ids, string(server.ID))
		}
	}
	return ids
}

// foundCluster writes the first entry of the log: the members.
func (g *raftGroup) foundCluster(founders []string) error {
	var members raft.Configuration
	for _, id := range founders {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	if err := g.raft.BootstrapCluster(members).Error(); err != nil {
		return err
	}
	// Nobody else can have the first entry, so there is nothing to wait for.
	if err := g.campaign(); err != nil {
		g.options.Logger.Debug("the founder did not stand for election at once", "error", err)
	}
	return nil
}
