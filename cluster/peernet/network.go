package peernet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// Options configures a Network.
type Options struct {
	NodeID    string
	ClusterID func() string // empty while this node belongs to no cluster
	Formats   func() FormatRange
	Outdated  func(error) // called if this program is too old for its cluster
	// WentOn reports whether the cluster of this node is the recovered form of another; nil:
	// of none.
	WentOn  func(clusterID string) bool
	Ended   func(error)         // called if the cluster of this node has ended
	Bind    string              // host:port
	Timeout time.Duration       // of dialing and of the handshake
	Network environment.Network // default the machine's
	TLS     *TLS                // nil: clear text, and no identity is proved
	Clock   environment.Clock   // default the machine's
	Logger  *slog.Logger
}

// Network is the network between nodes: one listener, connections whose other end is a known
// node, and addresses that are looked up by node id when dialing. Safe for concurrent use.
type Network struct {
	options Options
	book    *AddressBook
	socket  net.Listener
	network environment.Network
	lost    atomic.Pointer[func(nodeID string)] // called when a connection breaks
	// opened is set when this node accepts connections of all kinds. Before, while it reads
	// its log, it only answers questions about the leader.
	opened atomic.Bool
	// handshakes counts connections without a handshake yet.
	handshakes *hostlimit.Limit
	// ofNodes counts those from hosts of nodes, which have a limit of their own.
	ofNodes *hostlimit.Limit
	refused *hostlimit.Refusals

	ctx    context.Context // ends at close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	incoming map[purpose]*connQueue
	conns    map[*peerConn]struct{} // open, both directions
	arrivals uint64                 // connections that other nodes have opened
	hosts    map[string]struct{}    // of nodes, known by a handshake
	greeted  uint64                 // connections whose handshake succeeded
	closed   bool
}

const (
	// handshakesMax bounds the connections without a handshake yet; a cluster has a handful
	// of nodes with a few connections each.
	handshakesMax = 256
	// handshakesPerHost leaves room for the other nodes when one host opens connections and
	// sends nothing.
	handshakesPerHost = 64
	// hostsMax bounds the hosts that are known to have a node.
	hostsMax = 1024
)

// ErrClosed is the error of every dial and accept after Close.
var ErrClosed = errors.New("this node is stopping")

var errStarting = errors.New("this node is starting and reads its log")

// Listen binds the peer port. Connections are accepted after Serve.
func Listen(ctx context.Context, options Options, book *AddressBook) (*Network, error) {
	ctx, cancel := context.WithCancel(ctx)
	network := options.Network
	if network == nil {
		network = environment.NewMachineNetwork(options.Bind, options.Timeout)
	}
	socket, err := network.Listen(ctx, options.Bind)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	if options.Clock == nil {
		options.Clock = environment.SystemClock()
	}
	p := &Network{
		options:    options,
		book:       book,
		socket:     socket,
		network:    network,
		handshakes: hostlimit.New(handshakesMax, handshakesPerHost),
		ofNodes:    hostlimit.New(handshakesMax, handshakesPerHost),
		hosts:      map[string]struct{}{},
		refused:    hostlimit.NewRefusals(options.Logger, options.Clock.Monotonic, reasons()...),
		ctx:        ctx,
		cancel:     cancel,
		conns:      map[*peerConn]struct{}{},
		incoming:   map[purpose]*connQueue{},
	}
	for _, kind := range []Kind{KindBootstrap, KindMembership, KindRestore} {
		p.use(purpose{kind: kind})
	}
	return p, nil
}

// purpose is the kind of a connection with its group.
type purpose struct {
	kind  Kind
	group uint32
}

// AddGroup makes this node accept the connections of a consensus group, also of one
// that was closed and is opened again.
func (p *Network) AddGroup(group uint32) {
	for _, kind := range []Kind{KindFailureDetector, KindTerms, KindConsensus, KindForward, KindBodies, KindInstall} {
		p.use(purpose{kind, group})
	}
}

func (p *Network) use(use purpose) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.incoming[use] = newConnQueue(nodeAddr(p.options.NodeID))
}

// queue returns the queue in which connections wait to be accepted; nil: there is none.
func (p *Network) queue(use purpose) *connQueue {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.incoming[use]
}

// Listener returns the listener for the connections of one kind to a group, after their
// handshake. Kinds without a group have group 0.
func (p *Network) Listener(kind Kind, group uint32) net.Listener {
	return p.queue(purpose{kind, group})
}

// WhenLost sets the function to call with the id of the other node when a connection breaks.
// It must not block.
func (p *Network) WhenLost(lost func(nodeID string)) { p.lost.Store(&lost) }

// NodeID returns the id of this node.
func (p *Network) NodeID() string { return p.options.NodeID }

// Timeout returns the timeout for dialing with the handshake.
func (p *Network) Timeout() time.Duration { return p.options.Timeout }

// Context ends when the network is closed or the context of Listen ends.
func (p *Network) Context() context.Context { return p.ctx }

// Serve begins to accept connections, until Open only of KindFailureDetector.
func (p *Network) Serve() {
	p.wg.Go(p.accept)
	p.wg.Go(func() { p.book.run(p.ctx) })
}

// Open accepts connections of every kind from now on.
func (p *Network) Open() { p.opened.Store(true) }

// BoundAddr returns the host:port at which this node listens, also if the setting has port 0.
func (p *Network) BoundAddr() string { return p.socket.Addr().String() }

// Dial connects to a group at another node for one purpose and makes the handshake,
// within Timeout. The error wraps ErrRefused if the node answered and refused, and
// ErrFormats if the two programs cannot work together.
func (p *Network) Dial(ctx context.Context, nodeID string, kind Kind, group uint32) (net.Conn, error) {
	address := p.book.Lookup(nodeID)
	if address == "" {
		return nil, fmt.Errorf("the address of node %s is not known yet", nodeID)
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	socket, err := p.network.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to node %s: %w", nodeID, err)
	}
	conn, err := p.track(socket, p.dialed(socket))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	if err = p.authenticate(ctx, conn, nodeID); err == nil {
		err = p.greet(conn, nodeID, purpose{kind, group})
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("node %s at %s: %w", nodeID, address, err)
	}
	return conn, nil
}

func (p *Network) greet(conn *peerConn, nodeID string, use purpose) error {
	greeting := hello{kind: use.kind, group: use.group, from: p.options.NodeID, to: nodeID, cluster: p.options.ClusterID(), formats: p.options.Formats()}
	if use.kind == KindBootstrap {
		greeting.cluster = ""
	} else if greeting.cluster == "" && use.kind != KindMembership {
		return errors.New("this node belongs to no cluster yet")
	}
	if err := greeting.write(conn); err != nil {
		return err
	}
	theirs, err := readAnswer(conn)
	if err == nil {
		p.noteFormats(conn, nodeID, theirs)
		if !use.kind.framed() {
			conn.check()
		}
	} else if errors.Is(err, ErrEnded) && greeting.cluster != "" {
		p.options.Ended(fmt.Errorf("node %s says: %w", nodeID, err))
	} else if errors.Is(err, ErrFormats) && greeting.cluster != "" && greeting.formats.outdated(theirs) {
		p.options.Outdated(tooOld(greeting.formats, nodeID, theirs))
	}
	return err
}

// tooOld returns the error for the operator of a node that needs the newer program.
func tooOld(own FormatRange, nodeID string, theirs FormatRange) error {
	return fmt.Errorf("this program reads format versions up to %d, and node %s of this cluster has %s in force: an upgrade was finalized; start this node with the newer program", own.highest, nodeID, FormatRange{theirs.lowest, theirs.lowest})
}

// noteFormats records the node at the other end and its formats, for as long as the connection
// lives, and that its host has a node.
func (p *Network) noteFormats(conn *peerConn, nodeID string, formats FormatRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.greeted++
	conn.node, conn.formats, conn.number = nodeID, formats, p.greeted
	if len(p.hosts) < hostsMax {
		p.hosts[hostlimit.HostOf(conn.RemoteAddr())] = struct{}{}
	}
}

// handshakesOf returns the limit for handshakes from an address. Hosts that have a node have a
// limit of their own, which no other host can exhaust.
func (p *Network) handshakesOf(remote net.Addr) *hostlimit.Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.hosts[hostlimit.HostOf(remote)]; known {
		return p.ofNodes
	}
	return p.handshakes
}

// FormatMaxOf returns the highest format that a node can read, as it said on the connections
// that are open now; 0: there is none.
func (p *Network) FormatMaxOf(nodeID string) (highest uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		if formats := uint32(conn.formats.highest); conn.node == nodeID && formats != 0 && (highest == 0 || formats < highest) {
			highest = formats
		}
	}
	return highest
}

// Disconnect closes the connections that are open now. The listener goes on.
func (p *Network) Disconnect() {
	p.mu.Lock()
	open := make([]*peerConn, 0, len(p.conns))
	for conn := range p.conns {
		open = append(open, conn)
	}
	p.mu.Unlock()
	for _, conn := range open {
		conn.Close()
	}
}

// Close stops listening, closes every connection and waits for the goroutines.
func (p *Network) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, queue := range p.incoming {
		queue.Close()
	}
	p.mu.Unlock()
	p.cancel()
	err := p.socket.Close()
	p.Disconnect()
	p.wg.Wait()
	return err
}
