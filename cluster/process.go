package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/election"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/sealing"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/format"
)

// thisGroup is the id of the only consensus group. It is part of every handshake and of the name
// of the group's directory.
const thisGroup = 0

// process holds the parts of a node that do not depend on the number of its consensus groups:
// the data directory, the network with its address book, gossip and the comparison of clocks,
// bootstrap, and the failure detector. Its members are those of the first group. Safe for
// concurrent use.
type process struct {
	cfg    Config
	nodeID string
	guard  *storage.DiskGuard

	dir      *storage.Dir
	groupDir *storage.GroupDir // of the first group
	bodies   *bodies.Store     // of the first group
	sealing  *sealing.Keeper
	book     *peernet.AddressBook
	network  *peernet.Network

	bootstrap *membership.Bootstrap
	detector  *election.FailureDetector
	gossip    *discovery.Gossip
	clocks    *discovery.Clocks

	inForce atomic.Uint32 // format version of the state
	probes  atomic.Uint32 // count of probeCalls
	// hold waits until no entry of this leader is in flight, and lets none start until
	// release. Nil until a term may begin.
	hold atomic.Pointer[func(context.Context) (release func(), err error)]

	ctx    context.Context // ends with disconnect
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// openProcess opens the data directory and the network. Until begin, the node only answers
// requests about the leader.
func openProcess(ctx context.Context, cfg Config) (*process, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{cfg: cfg, ctx: life, cancel: cancel}
	p.guard = storage.NewDiskGuard(cfg.Timing.DiskDeadline, cfg.Fatal, cfg.Disk)
	for _, open := range []func() error{p.openDir, p.openSealing, p.openBodies, p.openNetwork} {
		if err := open(); err != nil {
			return nil, errors.Join(err, p.disconnect(), p.close())
		}
	}
	return p, nil
}

// openParts opens the process and its group with the state machine from makeMachine.
func openParts(ctx context.Context, cfg Config, makeMachine func(*process) *fsm.FSM) (*process, *consensus.Group, error) {
	p, err := openProcess(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	group, err := consensus.Open(ctx, p.groupOptions(makeMachine(p)))
	if err != nil {
		return nil, nil, errors.Join(err, p.disconnect(), p.close())
	}
	if err := p.begin(group); err != nil {
		return nil, nil, errors.Join(err, closeParts(p, group))
	}
	return p, group, nil
}

// closeParts closes the process and its group.
func closeParts(p *process, group *consensus.Group) error {
	group.BeginClose()
	return errors.Join(p.disconnect(), group.Close(), p.close())
}

func (p *process) groupOptions(machine *fsm.FSM) consensus.Options {
	return consensus.Options{
		ID: thisGroup, NodeID: p.nodeID, Dir: p.groupDir, Guard: p.guard, Network: p.network, Machine: machine, Bodies: p.bodiesInUse(),
		Log: p.cfg.logOptions(), Snapshot: p.cfg.Snapshot, Timing: p.cfg.Timing.ofGroups(),
		Clock: p.cfg.Clock, Logger: p.cfg.Logger, Fatal: p.cfg.Fatal, Address: p.addressOf,
	}
}

// openDir opens the data directory.
func (p *process) openDir() error {
	if err := storage.CheckKeys(p.cfg.DataDir, p.cfg.Log.Encryption.Keys); err != nil {
		return p.keyMissing(err)
	}
	dir, err := storage.OpenDir(p.cfg.DataDir, p.cfg.NodeName, p.cfg.Random)
	switch {
	case errors.Is(err, storage.ErrLostData):
		return p.guard.Fail(fault.ExitLostData, fmt.Errorf("open the data directory: %w; %s", err, storage.ReplaceNode))
	case errors.Is(err, storage.ErrDamaged):
		return p.guard.FailRead(fmt.Errorf("open the data directory: %w", err))
	case err != nil:
		return fmt.Errorf("open the data directory: %w", err)
	}
	dir.Keys = p.cfg.Log.Encryption.Keys
	p.dir, p.nodeID = dir, dir.NodeID
	if err := errors.Join(storage.CheckRecovered(dir), storage.RemoveSpools(dir)); err != nil {
		return err
	}
	p.groupDir, err = dir.Group(thisGroup)
	return err
}

// openNetwork binds the peer port and reads the cluster that this node belongs to.
func (p *process) openNetwork() error {
	record, err := p.dir.Membership()
	if err != nil {
		return p.guard.FailRead(fmt.Errorf("which cluster this node belongs to is unknown: %w", err))
	}
	if record.ClusterID == "" && p.groupDir.HasLog() {
		return p.guard.Fail(fault.ExitLostData, fmt.Errorf("%s is missing: %w; %s", p.dir.File(storage.MembershipName),
			storage.ErrLostData, storage.ReplaceNode))
	}
	recovered, err := storage.ReadRecovery(p.dir)
	if err != nil {
		return p.guard.FailRead(fmt.Errorf("whether this node was recovered is unknown: %w", err))
	}
	p.bootstrap = membership.NewBootstrap(membership.BootstrapOptions{
		Dir: p.dir, Expect: p.cfg.BootstrapExpect, Join: p.cfg.Join, HasState: p.groupDir.HasLog, Gained: p.groupDir.LogBegun(),
		Guard: p.guard, Log: p.cfg.Logger,
	}, record)
	p.book = peernet.OpenAddressBook(p.dir.File(storage.AddressesName), p.cfg.Logger)
	p.network, err = peernet.Listen(p.ctx, peernet.Options{
		NodeID:    p.nodeID,
		ClusterID: p.clusterID,
		Formats: func() peernet.FormatRange {
			return peernet.NewFormatRange(max(format.OldestVersion, p.inForce.Load()), p.cfg.Log.FormatMax)
		},
		Outdated: func(err error) { p.cfg.Fatal(fault.ExitUnknownFormat, err) },
		WentOn:   recovered.Ended,
		Ended:    func(err error) { p.cfg.Fatal(fault.ExitOtherHistory, fmt.Errorf("%w: %w", errEnded, err)) },
		Bind:     p.cfg.PeerAddr,
		Timeout:  p.cfg.Timing.Dial,
		Network:  p.cfg.Network,
		TLS:      p.cfg.Trust.Peers,
		Clock:    p.cfg.Clock,
		Logger:   p.cfg.Logger,
	}, p.book)
	if err != nil {
		return err
	}
	p.network.AddGroup(thisGroup)
	p.answerAboutLeader()
	return nil
}

// errEnded ends a node whose cluster was recovered without it.
var errEnded = errors.New("the cluster of this node was recovered without it (seriatim cluster force-recover), and lacks the entries " +
	"that only this node has. Keep a copy of the data directory, and start this node with an empty one, so that it joins. " +
	"If the recovery was a mistake, stop the recovered nodes first")

// answerAboutLeader serves the failure detector, long before this node can answer anything else.
func (p *process) answerAboutLeader() {
	p.detector = election.New(election.Options{
		NodeID: p.nodeID, Group: thisGroup, Network: p.network, Heartbeat: p.cfg.Timing.Heartbeat, Clock: p.cfg.Clock, Log: p.cfg.Logger,
		Call: p.probeCalls,
	})
	p.network.WhenLost(p.detector.Suspect)
	p.network.Serve()
	p.wg.Go(func() { p.detector.Serve(p.ctx, p.network.Listener(peernet.KindFailureDetector, thisGroup)) })
}

// probeCalls checks that a node answers the calls that other nodes forward to it.
func (p *process) probeCalls(ctx context.Context, nodeID string) error {
	conn, err := p.network.Dial(ctx, nodeID, peernet.KindForward, thisGroup)
	if err != nil {
		return err
	}
	sender := fmt.Sprintf("%s/probe%d", p.nodeID, p.probes.Add(1)%probesAtOnce)
	return forward.Probe(ctx, conn, sender, nodeID, thisGroup)
}

// probesAtOnce bounds the numbers in the sender names of this node's probes, because other nodes
// remember each sender. Probes overlap when several nodes ask this one about the leader.
const probesAtOnce = 64

// begin opens gossip and takes full part in the cluster, with the group of its members.
func (p *process) begin(group *consensus.Group) error {
	if err := p.openGossip(group); err != nil {
		return err
	}
	p.detector.Start(p.electionView(group))
	p.bootstrap.Connect(membership.Peers{Network: p.network, Gossip: p.gossip, FirstEntry: group.Bootstrap})
	p.network.Open()
	p.wg.Go(func() { p.gossip.Run(p.ctx) })
	p.wg.Go(func() { p.bootstrap.Serve(p.ctx, p.network.Listener(peernet.KindBootstrap, 0)) })
	p.wg.Go(func() { p.bootstrap.Run(p.ctx) })
	p.wg.Go(func() { p.detector.Run(p.ctx) })
	p.wg.Go(p.announceState)
	return nil
}

// electionView gives the failure detector its access to the group.
func (p *process) electionView(group *consensus.Group) election.Consensus {
	return election.Consensus{
		Leadership: func() election.Leadership { return election.Leadership(group.Leadership()) },
		LastEntry: func() election.LogPosition {
			term, index := group.LastEntry()
			return election.LogPosition{Term: term, Index: index}
		},
		SinceContact: group.SinceContact,
		Voters:       group.Voters,
		HeardVoters:  group.HeardVoters,
		Campaign:     group.Campaign,
		MayLead:      func(nodeID string) bool { return membership.MayLead(nodeID, p.gossip, p.clocks) },
		Transfer: func(ctx context.Context, nodeID string) error {
			ctx, cancel := context.WithTimeout(ctx, membership.TransferTimeout)
			defer cancel()
			if hold := p.hold.Load(); hold != nil {
				release, err := (*hold)(ctx)
				if err != nil {
					return err
				}
				defer release()
			}
			return group.TransferTo(ctx, nodeID)
		},
	}
}

// openGossip binds the gossip port.
func (p *process) openGossip(group *consensus.Group) error {
	p.clocks = discovery.NewClocks(p.cfg.Clock, p.cfg.Timing.ClockSkewMax, p.nodeID, group.Voters)
	gossip := discovery.New(discovery.Options{
		NodeID:    p.nodeID,
		Bind:      p.cfg.GossipAddr,
		Advertise: p.cfg.AdvertiseGossip,
		Join:      p.cfg.Join,
		Key:       p.cfg.Trust.GossipKey,
		Self:      p.describe,
		Wanted:    func() int { return max(p.cfg.BootstrapExpect, memberCount(group), 2) },
		Heard:     p.book.Note,
		Clocks:    p.clocks,
		Network:   p.cfg.Network,
		Monotonic: p.cfg.Clock.Monotonic,
		Logger:    p.cfg.Logger,
	})
	if err := gossip.Open(p.ctx); err != nil {
		return err
	}
	p.gossip = gossip
	return nil
}

func memberCount(group *consensus.Group) int {
	members := group.Members()
	return len(members.Voters) + len(members.Learners)
}

// clusterID is empty until this node belongs to a cluster.
func (p *process) clusterID() string { return p.bootstrap.Record().ClusterID }

// describe returns the entry of this node for gossip.
func (p *process) describe() discovery.Member {
	own := p.bootstrap.Record()
	return discovery.Member{
		Joining:   own.Joined && !own.Added,
		NodeID:    p.nodeID,
		Name:      p.cfg.NodeName,
		ClusterID: p.clusterID(),
		Peer:      p.advertisedPeer(),
		Boot:      p.dir.Boot,
		Expect:    p.cfg.BootstrapExpect,
		HasState:  p.groupDir.HasLog(),
		Version:   p.cfg.Version,
		Format:    p.cfg.Log.FormatMax,
		Encrypts:  p.cfg.Log.Encryption.Keys != nil,
	}
}

// advertisedPeer returns the address at which the others reach this node. If the node is bound to
// all addresses, the host is empty, and the others use the address that gossip comes from.
func (p *process) advertisedPeer() string {
	if p.cfg.AdvertisePeer != "" {
		return p.cfg.AdvertisePeer
	}
	host, port, err := net.SplitHostPort(p.network.BoundAddr())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return net.JoinHostPort(host, port)
}

// addressOf returns the peer address of a node, empty if it is unknown.
func (p *process) addressOf(nodeID string) string {
	if nodeID == p.nodeID {
		return p.advertisedPeer()
	}
	return p.book.Lookup(nodeID)
}

// announceState announces by gossip that this node has become part of a cluster.
func (p *process) announceState() {
	select {
	case <-p.groupDir.LogBegun():
		p.gossip.Announce()
	case <-p.ctx.Done():
	}
}

// disconnect ends all exchanges with other nodes, so that they do not delay the end of the groups.
// Call close after it.
func (p *process) disconnect() error {
	p.cancel()
	if p.network != nil {
		p.network.Disconnect()
	}
	if p.gossip != nil {
		return p.gossip.Close()
	}
	return nil
}

// close closes the network and the data directory, which must not be in use any more. It also
// closes a process that did not open completely.
func (p *process) close() error {
	var problems []error
	if p.network != nil {
		problems = append(problems, p.network.Close())
	}
	p.wg.Wait()
	if p.bodies != nil {
		p.bodies.Close()
	}
	if p.dir != nil {
		problems = append(problems, p.dir.Close())
	}
	return errors.Join(problems...)
}
