package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/audit"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/election"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/history"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/recovery"
	"github.com/seriatimq/seriatim/cluster/route"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// Position is a place in the log.
type Position = leader.Position

// Node is one member of the cluster. Safe for concurrent use.
type Node struct {
	cfg     Config
	log     *slog.Logger
	replica *fsm.FSM // the state of this node
	process *process
	group   *consensus.Group
	counts  *leader.Counters
	terms   atomic.Uint64 // that this node began as leader
	holders holders.Table // clients of this node that received something
	*route.Router

	term        atomic.Pointer[leader.Term] // nil unless this node leads
	termChanged wakeup.Broadcast            // the node begins or ends a term
	opened      atomic.Bool                 // process and group are set
	stateLock   sync.RWMutex                // held while the state changes

	stages   stages
	follower sync.WaitGroup // goroutines that follow the leadership and state of this node
	running  sync.WaitGroup // goroutines that exchange messages with other nodes

	server *forward.Server // answers the other nodes

	auditor    *audit.Auditor
	recovery   *recovery.Service
	pressure   *pressure
	caughtUp   atomic.Bool // with all that was committed before the start
	keysLock   sync.Mutex  // held while keys are replaced or checked
	encryption atomic.Pointer[EncryptionStatus]

	mu    sync.Mutex
	links map[string]*forward.Link // by node id

	membership.Operations // the methods that operators call
	members               *membership.Coordinator

	sampler  sampler
	requests ClientRequests

	accessSeen *access.Table // used by the goroutine of the state machine
}

// stages has the contexts that end in the two stages of Close.
type stages struct {
	closing      context.Context // ends first: nothing new is accepted
	beginClosing context.CancelFunc
	life         context.Context // ends when all calls in progress are done
	endLife      context.CancelFunc
}

// Open starts a node. It returns when the node takes part in its cluster or looks for one; Ready
// reports when the node can answer. The Node lives until Close, even if ctx ends.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("the configuration of the node: %w", err)
	}
	n := &Node{
		cfg:    cfg,
		log:    cfg.Logger,
		counts: leader.NewCounters(cfg.Limits.QueueTotals),
		links:  make(map[string]*forward.Link),
	}
	n.sampler.history, n.requests.Seconds = history.New(), newRequestSeconds()
	requests, err := route.NewRequests(cfg.Random)
	if err != nil {
		return nil, fmt.Errorf("opening the node: %w", err)
	}
	n.stages.life, n.stages.endLife = context.WithCancel(context.WithoutCancel(ctx))
	n.stages.closing, n.stages.beginClosing = context.WithCancel(n.stages.life)
	if n.process, n.group, err = openParts(ctx, cfg, func(p *process) *fsm.FSM { return n.makeReplica(p, requests) }); err != nil {
		n.stages.endLife()
		return nil, fmt.Errorf("opening the node: %w", err)
	}
	n.openRouter(requests)
	n.opened.Store(true)
	hold := n.hold
	n.process.hold.Store(&hold)
	n.group.NoteApplied(n.replica.AppliedIndex())
	n.process.inForce.Store(n.replica.FormatVersion())
	n.openMembership()
	n.serve(n.process.network.Listener(peernet.KindForward, thisGroup))
	n.openScrubber()
	n.follower.Go(n.followLeadership)
	n.openRecovery()
	n.running.Go(func() {
		n.members.Questions().Serve(n.stages.life, n.process.network.Listener(peernet.KindMembership, 0))
	})
	n.members.Run(n.running.Go)
	n.openHistory()
	n.running.Go(n.catchUpAfterStart)
	n.running.Go(n.runSealing)
	n.follower.Go(func() {
		n.auditor.Run(n.stages.closing, audit.Node{Group: n.group, Replica: n.replica, Report: n.reportAudit, Fatal: n.fatal})
	})
	n.follower.Go(n.watchDisk)
	return n, nil
}

// openRouter makes the part that executes the calls of clients at the leader.
func (n *Node) openRouter(requests *route.Requests) {
	n.Router = route.New(route.Node{
		NodeID: n.process.nodeID, Timeout: n.cfg.Limits.Timeout, Monotonic: n.cfg.Clock.Monotonic, Group: n.group, Replica: n.replica,
		Term: n.term.Load, TermChanged: n.termChanged.Changed, Link: n.link, Closing: n.stages.closing, Requests: requests,
		Check: n.check, Seal: n.sealed, ReadBodies: n.readBodies, Holders: &n.holders, Queues: n.counts.Queues,
	})
}

// openMembership makes the part that decides about members and leadership.
func (n *Node) openMembership() {
	p := n.process
	n.members = membership.New(membership.Node{
		Settings: membership.Settings{
			NodeID: p.nodeID, NodeName: n.cfg.NodeName, Version: n.cfg.Version, AdminURL: n.cfg.AdminURL,
			GossipKey: n.cfg.Trust.GossipKey, BootstrapExpect: n.cfg.BootstrapExpect, FormatMax: n.cfg.Log.FormatMax, Policy: n.cfg.Members,
			Heartbeat: n.cfg.Timing.Heartbeat, Arrival: n.cfg.Timing.Dial,
			Clock: n.cfg.Clock, Log: n.log, Fatal: n.cfg.Fatal, OnDrain: n.cfg.OnDrain,
		},
		Bootstrap: p.bootstrap, Group: n.group, Replica: n.replica, Network: p.network, Gossip: p.gossip, Clocks: p.clocks,
		Sealing: p.sealing, Holders: &n.holders, Closing: n.stages.closing,
		Leads: n.leads, TermChanged: n.termChanged.Changed, Hold: n.hold, Execute: sealingView{n}.Execute,
		Findings: n.findings, Encryption: n.encryptionStatus, ReasonToResign: n.reasonToResign,
	})
	n.Operations = n.members
}

// makeReplica makes the state machine and the parts that it calls.
func (n *Node) makeReplica(p *process, requests *route.Requests) *fsm.FSM {
	n.auditor = audit.New(audit.Options{
		NodeID: p.nodeID, DataDir: n.cfg.DataDir, Policy: n.cfg.Log.Audit, Clock: n.cfg.Clock, Log: n.log,
	})
	n.pressure = newPressure(n.cfg, n.auditor.Split)
	n.replica = fsm.New(fsm.Options{
		StateLock: &n.stateLock, Applied: n.applied, Audited: n.auditor.Applied, Fatal: n.fatal, VersionMax: n.cfg.Log.FormatMax,
		Origin: requests.Origin, Answered: requests.Answered, Restored: requests.Restored, Bodies: p.bodies,
	})
	return n.replica
}

// fatal ends the process for an error of the state machine.
func (n *Node) fatal(err error) {
	code := fault.ExitStateMismatch
	switch {
	case errors.Is(err, fsm.ErrUnreadableBody):
		code, err = storage.Unreadable(err)
	case errors.Is(err, format.ErrChecksum), errors.Is(err, format.ErrMalformed):
		code = fault.ExitChecksum
		err = fmt.Errorf("%w; %s", err, storage.ReplaceNode)
	case errors.Is(err, format.ErrUnknownFormat), errors.Is(err, format.ErrUnknownCommand):
		code = fault.ExitUnknownFormat
	}
	n.cfg.Fatal(code, err)
}

// applied runs on the state machine's goroutine after each batch.
func (n *Node) applied(index uint64, _ queue.Timestamp, events []queue.Event) {
	opened := n.opened.Load()
	if opened {
		n.group.NoteApplied(index)
	}
	var (
		size     int64
		deadline queue.Timestamp
		version  uint32
	)
	n.replica.Inspect(func(b *queue.Broker) {
		size, deadline, version = b.View().StateBytes(), b.NextDeadline(), b.FormatVersion()
	})
	if opened {
		n.process.inForce.Store(version)
		n.noteAccess()
	}
	n.pressure.applied(size)
	if t := n.term.Load(); t != nil {
		t.Applied(deadline, version, events)
	}
}

// serve answers the requests of other nodes.
func (n *Node) serve(listener net.Listener) {
	n.server = forward.NewServer(forward.ServerOptions{
		NodeID:    n.process.nodeID,
		Group:     thisGroup,
		Term:      n.term.Load,
		Audits:    n.auditor.Collect,
		Monotonic: n.cfg.Clock.Monotonic,
		Bodies:    n.readBodies,
		Log:       n.log,
	})
	n.running.Go(func() { n.server.Serve(n.stages.life, listener) })
}

// connect opens a stream to another node.
func (n *Node) connect(ctx context.Context, nodeID string) (forward.Stream, error) {
	conn, err := n.process.network.Dial(ctx, nodeID, peernet.KindForward, thisGroup)
	if err != nil {
		return nil, err
	}
	return forward.NewFramedStream(ctx, conn), nil
}

// link returns the connection for calls to another node.
func (n *Node) link(nodeID string) *forward.Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[nodeID]
	if l == nil {
		l = forward.NewLink(n.stages.life, &n.running, forward.LinkOptions{
			Self: n.process.nodeID, NodeID: nodeID, Group: thisGroup, Connect: n.connect, Leads: n.currentLeader,
			Closing: n.stages.closing.Done(),
			Silent:  func() { n.process.detector.Suspect(nodeID) }, Silence: election.Silence(n.cfg.Timing.Heartbeat),
			Limits: n.cfg.Limits.leader(), Log: n.log,
		})
		n.links[nodeID] = l
	}
	return l
}

// reportAudit sends the hashes of this replica to the leader.
func (n *Node) reportAudit(ctx context.Context, known consensus.Leadership, report *peerpb.Audit) (received bool) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.RPC)
	defer cancel()
	request := forward.Request{Kind: forward.Audit, Term: known.Term, Report: report}
	return n.link(known.LeaderID).Call(ctx, request).Verdict == leader.Answered
}

// writeAudits proposes the audits of a leader term.
func (n *Node) writeAudits(ctx context.Context, t *leader.Term) {
	n.auditor.WriteAudits(ctx, t, n.group, n.replica)
}

// followLeadership begins and ends leader terms until the node closes.
func (n *Node) followLeadership() {
	defer n.endTerm()
	for {
		var exclusive <-chan func()
		if t := n.term.Load(); t != nil {
			exclusive = t.ExclusiveWork()
		}
		select {
		case <-n.stages.closing.Done():
			return
		case leads, open := <-n.group.OwnLeadership():
			if !open {
				return
			}
			n.endTerm()
			if leads {
				n.beginTerm()
			}
		case work := <-exclusive:
			n.endTerm()
			work()
			if n.group.Leadership().Self {
				n.beginTerm()
			}
		}
	}
}

func (n *Node) beginTerm() {
	term, leads := n.group.LeaderTerm()
	if !leads {
		return // leadership is lost again; the next event says so
	}
	n.terms.Add(1)
	t := leader.Begin(n.stages.life, leader.Options{
		Group:     n.group,
		Term:      term,
		Replica:   n.replica,
		ClusterID: n.process.clusterID,
		Clock:     n.process.clocks,
		Limits:    n.cfg.Limits.leader(),
		Settings:  n.cfg.Settings,
		Entropy:   n.cfg.Random,
		Counters:  n.counts,
		Log:       n.log,

		Poster:        n.cfg.Poster,
		FirstKey:      n.cfg.FirstKey,
		Secrets:       firstSecret{sealingView{n}},
		Refuse:        n.refuseCommand,
		InitialFormat: n.members.InitialFormat,
		ClocksKnown:   n.process.clocks.Known(),
		ClockStepMax:  n.cfg.Timing.ClockSkewMax,
		Jobs:          []func(context.Context, *leader.Term){n.writeAudits, n.members.Lead, n.sealAsLeader},
	})
	n.term.Store(t)
	n.termChanged.Notify()
}

func (n *Node) endTerm() {
	if t := n.term.Swap(nil); t != nil {
		t.End()
		n.log.Info("no longer leading")
		n.termChanged.Notify()
	}
}

// currentLeader returns the leader and a channel that is closed when it changes.
func (n *Node) currentLeader() (id string, changed <-chan struct{}) {
	changed = n.group.LeadershipChanged() // first, to miss no change
	return n.group.Leadership().LeaderID, changed
}
