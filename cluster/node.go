package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// Position is a place in the log.
type Position struct {
	Index   uint64          // of the entry, or of the last one a read saw
	LogTime queue.Timestamp // after that entry
}

// positionOf is the Position of a state.
func positionOf(at fsm.Position) Position { return Position{Index: at.Index, LogTime: at.At} }

// Reply is the answer to a command that was not refused. Of a refused one only
// Position is set, and that only if the refusal passed the log.
type Reply struct {
	Result queue.Result
	Position
	// Repeated says that a send was made again because the outcome of the first
	// try was unknown: a duplicate may be the message of that try.
	Repeated bool
}

// Node is one member of the cluster. Safe for concurrent use.
type Node struct {
	cfg     Config
	log     *slog.Logger
	guard   sync.RWMutex // held while the state changes
	replica *fsm.FSM     // the state of this node
	process *process
	group   *raftGroup
	counts  *counters
	calls   gate
	// requests are those of this node's clients that are under way.
	requests *ownRequests

	tenure atomic.Pointer[tenure] // nil unless this node leads
	opened atomic.Bool            // process and group are set

	lifetime
	follower sync.WaitGroup // the goroutine that follows this node's leadership
	running  sync.WaitGroup // the peer server and the links

	outward
	watching

	mu            sync.Mutex
	links         map[string]*link // by node id
	tenureChanged chan struct{}    // closed and replaced at each change of tenure

	memberControl
}

// lifetime is how far the end of a node has come.
type lifetime struct {
	closing      context.Context // ends when nothing new is taken on
	beginClosing context.CancelFunc
	life         context.Context // ends when everything under way is done
	endLife      context.CancelFunc
}

// outward is what answers the other nodes.
type outward struct {
	server  *grpc.Server
	inbound *peerServer
}

// watching is what makes a node doubt itself.
type watching struct {
	auditor  *auditor
	pressure *pressure
	// doubts wakes who decides whether this node should lead. Capacity 1: a
	// token that waits stands for all that follow.
	doubts chan struct{}
}

// Open starts a node and returns when it takes part in its cluster or looks for
// it; Ready tells when it can answer. The Node lives until Close, whatever
// becomes of ctx.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("the configuration of the node: %w", err)
	}
	n := &Node{
		cfg:           cfg,
		log:           cfg.Logger,
		counts:        newCounters(),
		links:         make(map[string]*link),
		tenureChanged: make(chan struct{}),
		memberControl: memberControl{changing: make(chan struct{}, 1)},
	}
	var err error
	if n.requests, err = newOwnRequests(cfg.Random); err != nil {
		return nil, fmt.Errorf("opening the node: %w", err)
	}
	n.auditor = newAuditor(cfg.DataDir, cfg.Logger)
	n.pressure = newPressure(cfg, n.auditor)
	n.doubts = make(chan struct{}, 1)
	n.life, n.endLife = context.WithCancel(context.WithoutCancel(ctx))
	n.closing, n.beginClosing = context.WithCancel(n.life)
	n.replica = fsm.New(fsm.Options{
		Guard: &n.guard, Applied: n.applied, Audited: n.auditor.applied, Fatal: n.fatal, VersionMax: cfg.Log.FormatMax,
		Origin: n.requests.origin, Answered: n.requests.answered, Restored: n.requests.restored,
	})
	if n.process, n.group, err = openParts(ctx, cfg, tapped(ctx, n.replica)); err != nil {
		n.endLife()
		return nil, fmt.Errorf("opening the node: %w", err)
	}
	n.opened.Store(true)
	n.group.notifyApplied(n.replica.AppliedIndex())
	n.process.inForce.Store(n.replica.FormatVersion())
	n.serve(n.process.network.Listener(peernet.KindGRPC, thisGroup))
	n.auditor.nodeID = n.process.nodeID
	n.follower.Go(n.followLeadership)
	n.running.Go(func() { n.serveRestores(n.process.network.Listener(peernet.KindRestore, 0)) })
	n.running.Go(func() { n.membershipQuestions().Serve(n.life, n.process.network.Listener(peernet.KindMembership, 0)) })
	n.running.Go(func() { n.joinCluster(n.closing) })
	n.running.Go(func() { n.watchRemoval(n.closing) })
	n.follower.Go(n.runAudits)
	n.follower.Go(n.watchDisk)
	n.follower.Go(n.watchResignation)
	return n, nil
}

// fatal ends the process for what the state machine found.
func (n *Node) fatal(err error) {
	code := fault.ExitStateMismatch
	switch {
	case errors.Is(err, fsm.ErrChecksum), errors.Is(err, fsm.ErrMalformed):
		code = fault.ExitChecksum
		err = fmt.Errorf("%w; %s", err, storage.ReplaceNode)
	case errors.Is(err, fsm.ErrUnknownFormat), errors.Is(err, fsm.ErrUnknownCommand):
		code = fault.ExitUnknownFormat
	}
	n.cfg.Fatal(code, err)
}

// applied runs on the state machine's goroutine after each batch.
func (n *Node) applied(index uint64, _ queue.Timestamp, events []queue.Event) {
	opened := n.opened.Load()
	if opened {
		n.group.notifyApplied(index)
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
	}
	n.pressure.applied(size)
	if t := n.tenure.Load(); t != nil {
		t.applied(deadline, version, events)
	}
}

// Intervals of the checks that a connection between nodes is alive although
// nothing is said on it, and of the answer to such a check.
const (
	keepaliveInterval = 10 * time.Second
	keepaliveTimeout  = 5 * time.Second
)

// serve answers the requests of other nodes.
func (n *Node) serve(listener net.Listener) {
	n.inbound = &peerServer{
		nodeID:    n.process.nodeID,
		tenure:    n.tenure.Load,
		monotonic: n.cfg.Clock.Monotonic,
		counts:    n.counts,
		log:       n.log,
		audits:    n.auditor,
		closing:   make(chan struct{}),
		newest:    make(map[string]*inbound),
	}
	n.server = grpc.NewServer(
		grpc.ForceServerCodecV2(newFrameCodec()),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(streamWindow),
		grpc.MaxRecvMsgSize(frameLimit),
		grpc.MaxSendMsgSize(frameLimit),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveInterval / 2, PermitWithoutStream: true}),
	)
	peerpb.RegisterPeerServer(n.server, n.inbound)
	n.running.Go(func() {
		if err := n.server.Serve(listener); err != nil && n.life.Err() == nil {
			n.log.Error("serving other nodes ended", "error", err)
		}
	})
}

// connect opens a stream to another node, over a connection whose handshake
// proves which node it is. Its only stream is the connection's life: a broken
// one is replaced as a whole, so that no hidden back-off delays a failover.
func (n *Node) connect(ctx context.Context, nodeID string) (forwardStream, func() error, error) {
	conn, err := grpc.NewClient("passthrough:///"+nodeID,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return n.process.network.Dial(ctx, nodeID, peernet.KindGRPC, thisGroup)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frameLimit), grpc.MaxCallSendMsgSize(frameLimit),
			grpc.ForceCodecV2(newFrameCodec())),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(streamWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: n.cfg.Timing.Dial}),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to %s: %w", nodeID, err)
	}
	stream, err := peerpb.NewPeerClient(conn).Forward(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening a stream to %s: %w", nodeID, err), conn.Close())
	}
	return stream, conn.Close, nil
}

// link is the way to another node.
func (n *Node) link(nodeID string) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[nodeID]
	if l == nil {
		l = newLink(n.life, &n.running, n.process.nodeID, nodeID, n.connect, n.cfg.Limits, n.log)
		n.links[nodeID] = l
	}
	return l
}

// followLeadership begins and ends tenures until the node closes.
func (n *Node) followLeadership() {
	defer n.endTenure()
	for {
		var interludes <-chan func()
		if t := n.tenure.Load(); t != nil {
			interludes = t.interludes
		}
		select {
		case <-n.closing.Done():
			return
		case leads, open := <-n.group.OwnLeadership():
			if !open {
				return
			}
			n.endTenure()
			if leads {
				n.beginTenure()
			}
		case work := <-interludes:
			n.endTenure()
			work()
			if n.group.Leadership().Self {
				n.beginTenure()
			}
		}
	}
}

func (n *Node) beginTenure() {
	term, leads := n.group.LeaderTerm()
	if !leads {
		return // it has lost leadership again, which comes next
	}
	n.counts.tenures.Add(1)
	t := beginTenure(n.life, landlord{
		group:     n.group,
		term:      term,
		replica:   n.replica,
		clusterID: n.process.clusterID,
		clock:     n.process.clocks,
		limits:    n.cfg.Limits,
		settings:  n.cfg.Settings,
		entropy:   n.cfg.Random,
		counts:    n.counts,
		log:       n.log,

		auditor:     n.auditor,
		auditPolicy: n.cfg.Log.Audit,
		admit:       n.admitCommand,
		founding:    n.foundingFormat,
		informed:    n.process.clocks.Known(),
		stepMax:     n.cfg.Timing.ClockSkewMax,
	})
	n.tenure.Store(t)
	t.ended.Go(func() { n.tendMembers(t) })
	n.announceTenure()
}

func (n *Node) endTenure() {
	if t := n.tenure.Swap(nil); t != nil {
		t.end()
		n.log.Info("no longer leading")
		n.announceTenure()
	}
}

func (n *Node) announceTenure() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.tenureChanged)
	n.tenureChanged = make(chan struct{})
}

// leaderChange is closed, one of its channels, when another leader may be found.
type leaderChange struct{ leadership, tenure <-chan struct{} }

// leaderMayChange is taken before an attempt, so that no change is missed.
func (n *Node) leaderMayChange() leaderChange {
	n.mu.Lock()
	defer n.mu.Unlock()
	return leaderChange{n.group.LeadershipChanged(), n.tenureChanged}
}

// currentLeader names the leader and tells when that changes.
func (n *Node) currentLeader() (id string, changed <-chan struct{}) {
	changed = n.group.LeadershipChanged() // first, so that no change is missed
	return n.group.Leadership().LeaderID, changed
}
