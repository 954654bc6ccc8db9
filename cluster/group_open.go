package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/election"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// stateMachine is what the group needs of *fsm.FSM.
type stateMachine interface {
	raft.BatchingFSM
	AppliedIndex() uint64
}

// openGroup opens the data directory, the stores, the listener and gossip,
// starts consensus and begins to look for the other nodes. It returns when this
// node takes part; there need not be a leader yet. The group lives until Close,
// whatever becomes of ctx. cfg is complete (WithDefaults) and valid.
func openGroup(ctx context.Context, cfg Config, machine stateMachine) (*raftGroup, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &raftGroup{cfg: cfg, ctx: life, cancel: cancel}
	openState := func(machine stateMachine) error { return g.openState(ctx, machine) }
	g.guard = storage.NewDiskGuard(cfg.Timing.DiskDeadline, cfg.Fatal, cfg.Disk)
	for _, open := range []func(stateMachine) error{g.openDir, g.openNetwork, g.openStores, openState, g.openRaft, g.openGossip} {
		if err := open(machine); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	g.serve()
	return g, nil
}

// openDir opens the data directory.
func (g *raftGroup) openDir(stateMachine) error {
	dir, err := storage.OpenDir(g.cfg.DataDir, g.cfg.NodeName, g.cfg.Random)
	switch {
	case errors.Is(err, storage.ErrLostData):
		return g.guard.Fail(fault.ExitLostData, fmt.Errorf("open the data directory: %w; %s", err, storage.ReplaceNode))
	case errors.Is(err, storage.ErrDamaged):
		return g.guard.Fail(fault.ExitChecksum, fmt.Errorf("open the data directory: %w; %s", err, storage.ReplaceNode))
	case err != nil:
		return fmt.Errorf("open the data directory: %w", err)
	}
	g.dir, g.nodeID = dir, dir.NodeID
	if err := errors.Join(storage.CheckRecovered(dir), removeSpools(dir)); err != nil {
		return err
	}
	g.groupDir, err = dir.Group(thisGroup)
	return err
}

// openNetwork binds the peer port and reads to which cluster this node belongs.
func (g *raftGroup) openNetwork(stateMachine) error {
	membership, err := g.dir.Membership()
	if err != nil {
		return g.guard.Fail(fault.ExitChecksum, fmt.Errorf("which cluster this node belongs to is unknown: %w; %s", err, storage.ReplaceNode))
	}
	if membership.ClusterID == "" && g.groupDir.HasLog() {
		return g.guard.Fail(fault.ExitLostData, fmt.Errorf("%s is missing: %w; %s", g.dir.File(storage.MembershipName), storage.ErrLostData, storage.ReplaceNode))
	}
	g.formation = &formation{
		dir:      g.dir,
		expect:   g.cfg.BootstrapExpect,
		lookAt:   g.cfg.Join,
		hasState: g.groupDir.HasLog,
		gained:   g.groupDir.LogBegun(),
		guard:    g.guard,
		logger:   g.cfg.Logger,
		turn:     make(chan struct{}, 1),
		renewed:  make(chan struct{}, 1),
	}
	g.formation.promise.Store(&membership)
	g.book = peernet.OpenAddressBook(g.dir.File(storage.AddressesName), g.cfg.Logger)
	g.network, err = peernet.Listen(g.ctx, peernet.Options{
		NodeID:    g.nodeID,
		ClusterID: g.clusterID,
		Formats: func() peernet.FormatRange {
			return peernet.NewFormatRange(max(fsm.OldestVersion, g.inForce.Load()), g.cfg.Log.FormatMax)
		},
		Outdated: func(err error) { g.cfg.Fatal(fault.ExitUnknownFormat, err) },
		Bind:     g.cfg.PeerAddr,
		Timeout:  g.cfg.Timing.Dial,
		Network:  g.cfg.Network,
		Logger:   g.cfg.Logger,
	}, g.book)
	if err != nil {
		return err
	}
	g.network.AddGroup(thisGroup)
	g.answerAboutLeader()
	return nil
}

// answerAboutLeader answers questions about the leader from here on, long before
// this node can answer anything else.
func (g *raftGroup) answerAboutLeader() {
	g.detector = election.New(election.Options{
		NodeID: g.nodeID, Group: thisGroup, Network: g.network, Heartbeat: g.cfg.Timing.Heartbeat, Clock: g.cfg.Clock, Log: g.cfg.Logger,
	})
	g.network.WhenLost(g.detector.LostConnection)
	g.network.Serve()
	g.wg.Go(func() { g.detector.Serve(g.ctx, g.network.Listener(peernet.KindFailureDetector, thisGroup)) })
}

// openStores opens log, term and vote, and snapshots. All of them are read before
// this node says a word to the others, see openState.
func (g *raftGroup) openStores(stateMachine) (err error) {
	if g.stable, err = storage.OpenStableStore(g.groupDir, g.guard); err != nil {
		return err
	}
	if g.log, err = storage.OpenLogStore(g.groupDir, g.guard, g.cfg.logOptions(g.raftLogger().Named("log"))); err != nil {
		return err
	}
	if g.snapshots, err = storage.OpenSnapshotStore(g.groupDir, g.guard, g.cfg.Snapshot.SyncBytes, g.raftLogger().Named("snapshots")); err != nil {
		return err
	}
	return g.snapshots.Verify()
}

// openRaft starts consensus.
func (g *raftGroup) openRaft(stateMachine) error {
	g.contacts = consensus.NewContacts(g.cfg.Clock)
	g.teller = consensus.NewCommitNotifier(g.cfg.Clock, g.cfg.Timing.Commit, g.raftLogger().Named("transport"))
	g.transport = consensus.NewTransport(consensus.TransportOptions{
		Network: g.network, Group: thisGroup, Timeout: g.cfg.Timing.RPC, Contacts: g.contacts, Commits: g.teller,
		Logger: g.raftLogger().Named("transport"),
	})
	g.machine.committed = g.teller.Committed
	g.leaders = newLeadershipWatch(g.nodeID, func() {
		g.cfg.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster"))
	})
	consensus, err := raft.NewRaft(g.raftConfig(), g.machine, g.log, g.stable, &g.librarySnaps, g.transport)
	if err != nil {
		return fmt.Errorf("start consensus: %w", errors.Join(err, g.guard.Poisoned()))
	}
	g.raft = consensus
	g.machine.live.Store(true)
	g.proof = &readProof{
		nodeID: g.nodeID, term: consensus.CurrentTerm, voters: g.voters, timeout: g.cfg.Timing.Heartbeat, life: g.ctx,
		askers: make(map[string]*termAsker),
		dial: func(ctx context.Context, nodeID string) (net.Conn, error) {
			return g.network.Dial(ctx, nodeID, peernet.KindTerms, thisGroup)
		},
	}
	g.leaders.source = consensus
	g.teller.Watch(consensus)
	observer := g.leaders.observer()
	g.raft.RegisterObserver(observer)
	g.transfers = &transferWatch{
		patience: transferPatience * g.cfg.Timing.Election,
		leads:    func() bool { return g.raft.State() == raft.Leader },
		probe:    func() error { return g.raft.Barrier(g.cfg.Timing.Enqueue).Error() },
		fatal:    g.cfg.Fatal,
	}
	g.wg.Go(func() { g.leaders.run(g.ctx) })
	g.wg.Go(func() { g.teller.Run(g.ctx) })
	return nil
}

func (g *raftGroup) raftLogger() hclog.Logger { return storage.NewLibraryLogger(g.ctx, g.cfg.Logger) }

// raftConfig follows raft.md A12.
func (g *raftGroup) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.nodeID)
	c.HeartbeatTimeout = g.cfg.Timing.Heartbeat
	c.ElectionTimeout = g.cfg.Timing.Election
	c.LeaderLeaseTimeout = g.cfg.Timing.Lease
	c.CommitTimeout = max(consensus.KeepAlive, g.cfg.Timing.Commit)
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

// openGossip binds the gossip port.
func (g *raftGroup) openGossip(stateMachine) error {
	g.clocks = discovery.NewClocks(g.cfg.Clock, g.cfg.Timing.ClockSkewMax, g.nodeID, g.voters)
	g.gossip = discovery.New(discovery.Options{
		NodeID:    g.nodeID,
		Bind:      g.cfg.GossipAddr,
		Advertise: g.cfg.AdvertiseGossip,
		Join:      g.cfg.Join,
		Key:       g.cfg.GossipKey,
		Self:      g.describe,
		Wanted:    g.membersWanted,
		Heard:     g.book.Note,
		Clocks:    g.clocks,
		Network:   g.cfg.Network,
		Monotonic: g.cfg.Clock.Monotonic,
		Logger:    g.cfg.Logger,
	})
	if err := g.gossip.Open(g.ctx); err != nil {
		g.gossip = nil
		return err
	}
	return nil
}

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

// describe is what the other nodes learn of this one.
func (g *raftGroup) describe() discovery.Member {
	own := g.formation.promised()
	return discovery.Member{
		Joining:   own.Joined && !own.Admitted,
		NodeID:    g.nodeID,
		Name:      g.cfg.NodeName,
		ClusterID: g.clusterID(),
		Peer:      g.advertisedPeer(),
		Boot:      g.dir.Boot,
		Expect:    g.cfg.BootstrapExpect,
		HasState:  g.groupDir.HasLog(),
		Version:   g.cfg.Version,
		Format:    g.cfg.Log.FormatMax,
	}
}

// advertisedPeer is where the others reach this node. Bound to all addresses,
// it is the one they hear gossip from, which they fill in themselves.
func (g *raftGroup) advertisedPeer() string {
	if g.cfg.AdvertisePeer != "" {
		return g.cfg.AdvertisePeer
	}
	host, port, err := net.SplitHostPort(g.network.BoundAddr())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return net.JoinHostPort(host, port)
}

// membersWanted is how many live nodes this one should see.
func (g *raftGroup) membersWanted() int {
	members := g.raft.GetConfiguration().Configuration().Servers
	return max(g.cfg.BootstrapExpect, len(members), 2)
}

// serve starts everything that talks to the other nodes.
func (g *raftGroup) serve() {
	g.detector.Start(g.electionView())
	f := g.formation
	f.network, f.view, f.changes, f.announce, f.found = g.network, g.gossip.View, g.gossip.Changes, g.gossip.Announce, g.foundCluster
	g.wg.Go(func() { g.proof.serve(g.network.Listener(peernet.KindTerms, thisGroup)) })
	g.network.Open()
	g.wg.Go(func() { g.gossip.Run(g.ctx) })
	g.wg.Go(func() { f.serve(g.ctx, g.network.Listener(peernet.KindBootstrap, 0)) })
	g.wg.Go(func() { f.run(g.ctx) })
	g.wg.Go(func() { g.detector.Run(g.ctx) })
	g.wg.Go(func() { g.announceState() })
	g.wg.Go(g.snapshotWhenDue)
}

// announceState tells the others when this node has become part of a cluster.
func (g *raftGroup) announceState() {
	select {
	case <-g.groupDir.LogBegun():
		g.gossip.Announce()
	case <-g.ctx.Done():
	}
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
		g.cfg.Logger.Debug("the founder did not stand for election at once", "error", err)
	}
	return nil
}
