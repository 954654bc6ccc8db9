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
	// WentOn reports whether this node's cluster continues the given cluster after a recovery; nil:
	// it continues none.
	WentOn  func(clusterID string) bool
	Ended   func(error)         // called if this node's cluster has ended
	Bind    string              // host:port
	Timeout time.Duration       // for dialing and the handshake together
	Network environment.Network // nil: the machine's
	TLS     *TLS                // nil: clear text without proof of identity
	Clock   environment.Clock   // nil: the machine's
	Logger  *slog.Logger
}

// Network has one listener, connections to known nodes, and addresses by node id. Safe for
// concurrent use.
type Network struct {
	options Options
	book    *AddressBook
	socket  net.Listener
	network environment.Network
	lost    atomic.Pointer[func(nodeID string)] // called when a connection breaks
	// opened is set when this node accepts connections of all kinds. Before that, while it reads
	// its log, it only answers questions about the leader.
	opened atomic.Bool
	// handshakes limits the handshakes in progress.
	handshakes *hostlimit.Limit
	// ofNodes limits those from hosts of known nodes.
	ofNodes *hostlimit.Limit
	refused *hostlimit.Refusals

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	incoming  map[purpose]*connQueue
	conns     map[*peerConn]struct{} // open, both directions
	arrivals  uint64                 // accepted connections
	hosts     map[string]struct{}    // hosts of nodes, known by a handshake
	succeeded uint64                 // handshakes that succeeded
	closed    bool
}

const (
	// handshakesMax bounds the handshakes in progress. A cluster has a handful of nodes with a few
	// connections each.
	handshakesMax = 256
	// handshakesPerHost leaves room for other nodes when one host opens connections and sends
	// nothing.
	handshakesPerHost = 64
	// hostsMax bounds the hosts recorded as hosts of nodes.
	hostsMax = 1024
)

// ErrClosed is the error of all dials and accepts after Close.
var ErrClosed = errors.New("this node is stopping")

var errStarting = errors.New("this node is starting and reads its log")

// Listen binds the peer port. Serve then accepts connections.
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

// purpose is the kind and group of a connection.
type purpose struct {
	kind  Kind
	group uint32
}

// AddGroup accepts the connections of a consensus group, also after it was closed and opened again.
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

// queue returns the queue of accepted connections for a purpose, nil if there is none.
func (p *Network) queue(use purpose) *connQueue {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.incoming[use]
}

// Listener returns the listener for the connections of one kind to a group, after their handshake.
// Kinds without a group use group 0.
func (p *Network) Listener(kind Kind, group uint32) net.Listener {
	return p.queue(purpose{kind, group})
}

// WhenLost sets the function to call with a node's id when a connection to it breaks. It must not
// block.
func (p *Network) WhenLost(lost func(nodeID string)) { p.lost.Store(&lost) }

// NodeID returns the id of this node.
func (p *Network) NodeID() string { return p.options.NodeID }

// Timeout returns the timeout for dialing and the handshake together.
func (p *Network) Timeout() time.Duration { return p.options.Timeout }

// Context returns a context that ends with Close or with the context of Listen.
func (p *Network) Context() context.Context { return p.ctx }

// Serve begins to accept connections, only of KindFailureDetector until Open.
func (p *Network) Serve() {
	p.wg.Go(p.accept)
	p.wg.Go(func() { p.book.run(p.ctx) })
}

// Open accepts connections of every kind.
func (p *Network) Open() { p.opened.Store(true) }

// BoundAddr returns the address of the listener as host:port. If Options.Bind has port 0, this is
// the port that the system chose.
func (p *Network) BoundAddr() string { return p.socket.Addr().String() }

// Dial connects to a node's group for one purpose and makes the handshake, within Timeout. The
// error wraps ErrRefused if the node refused, and ErrFormats if the two programs have no common
// format.
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
		err = p.dialHandshake(conn, nodeID, purpose{kind, group})
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

func (p *Network) dialHandshake(conn *peerConn, nodeID string, use purpose) error {
	own := hello{kind: use.kind, group: use.group, from: p.options.NodeID, to: nodeID, cluster: p.options.ClusterID(),
		formats: p.options.Formats()}
	if use.kind == KindBootstrap {
		own.cluster = ""
	} else if own.cluster == "" && use.kind != KindMembership {
		return errors.New("this node belongs to no cluster yet")
	}
	if err := own.write(conn); err != nil {
		return err
	}
	theirs, err := readAnswer(conn)
	if err == nil {
		p.established(conn, nodeID, theirs)
		if !use.kind.framed() {
			conn.check()
		}
	} else if errors.Is(err, ErrEnded) && own.cluster != "" {
		p.options.Ended(fmt.Errorf("answer of node %s: %w", nodeID, err))
	} else if errors.Is(err, ErrFormats) && own.cluster != "" && own.formats.outdated(theirs) {
		p.options.Outdated(tooOld(own.formats, nodeID, theirs))
	}
	return err
}

// tooOld returns the error for a node that needs a newer program.
func tooOld(own FormatRange, nodeID string, theirs FormatRange) error {
	return fmt.Errorf("this program reads format versions up to %d, but node %s of this cluster has %s in force: "+
		"an upgrade was finalized. "+
		"Start this node with the newer program", own.highest, nodeID, FormatRange{theirs.lowest, theirs.lowest})
}

// established records the other node of a connection, its formats and its host.
func (p *Network) established(conn *peerConn, nodeID string, formats FormatRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.succeeded++
	conn.node, conn.formats, conn.number = nodeID, formats, p.succeeded
	if len(p.hosts) < hostsMax {
		p.hosts[hostlimit.HostOf(conn.RemoteAddr())] = struct{}{}
	}
}

// handshakesOf returns the limit for handshakes from an address. Known hosts of nodes have a limit
// of their own, which no other host can exhaust.
func (p *Network) handshakesOf(remote net.Addr) *hostlimit.Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.hosts[hostlimit.HostOf(remote)]; known {
		return p.ofNodes
	}
	return p.handshakes
}

// FormatMaxOf returns the highest format that a node can read, according to its open connections;
// 0: unknown.
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

// Disconnect closes the open connections. The listener stays open.
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
