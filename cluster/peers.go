package cluster

import (
	"context"
	"errors"
	"fmt"
	"github.com/seriatimq/seriatim/cluster/environment"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// thisGroup is the id of the only group there is yet; it travels in every
// handshake and names the group's directory.
const thisGroup = 0

// peersConfig is what the network between nodes needs to know.
type peersConfig struct {
	nodeID    string
	clusterID func() string // empty while this node belongs to no cluster
	formats   func() formatRange
	outdated  func(error)         // told that this program is too old for its cluster
	bind      string              // host:port
	timeout   time.Duration       // of dialing and of the handshake
	network   environment.Network // default the machine's
	logger    *slog.Logger
}

// peers is the network between nodes: one listener, connections that know who
// is at the other end, and addresses looked up by node id when dialing. Safe
// for concurrent use.
type peers struct {
	config   peersConfig
	book     *addressBook
	gossip   func() []gossipMember // set before use by start
	lost     func(nodeID string)   // told of connections that broke; set before serve
	socket   net.Listener
	network  environment.Network
	incoming map[connKind]*connQueue
	// opened is set when connections of all kinds are taken. Before, while the node
	// reads its log, it only answers questions about the leader.
	opened atomic.Bool
	// handshakes bounds the connections that have not said yet who they are.
	handshakes chan struct{}

	ctx    context.Context // ends at close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	conns  map[*peerConn]struct{} // open, both directions
	closed bool
}

// peerMember is what is known of another node from gossip.
type peerMember struct {
	NodeID  string
	Name    string
	Address string // host:port of its peer listener
	Version string
	Alive   bool // as far as gossip can tell
}

// handshakesMax is how many dialing nodes may keep this one waiting for who
// they are; a cluster has a handful of nodes with a few connections each.
const handshakesMax = 64

var (
	errPeersClosed = errors.New("this node is stopping")
	errStarting    = errors.New("this node is starting and reads its log")
)

// listenPeers opens the listener. Connections are accepted after serve.
func listenPeers(ctx context.Context, config peersConfig, book *addressBook) (*peers, error) {
	ctx, cancel := context.WithCancel(ctx)
	network := config.network
	if network == nil {
		network = environment.NewMachineNetwork(config.bind, config.timeout)
	}
	socket, err := network.Listen(ctx, config.bind)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listen for other nodes: %w", err)
	}
	p := &peers{
		config:     config,
		book:       book,
		gossip:     func() []gossipMember { return nil },
		lost:       func(string) {},
		socket:     socket,
		network:    network,
		handshakes: make(chan struct{}, handshakesMax),
		ctx:        ctx,
		cancel:     cancel,
		conns:      map[*peerConn]struct{}{},
		incoming:   map[connKind]*connQueue{},
	}
	for _, kind := range []connKind{connRaft, connGRPC, connFormation, connMembers, connDoubts, connRestore} {
		p.incoming[kind] = newConnQueue(nodeAddr(config.nodeID))
	}
	return p, nil
}

// serve begins to accept connections, until open only of kind connDoubts.
func (p *peers) serve() {
	p.wg.Go(p.accept)
	p.wg.Go(func() { p.book.run(p.ctx) })
}

// open accepts connections of every kind from now on.
func (p *peers) open() { p.opened.Store(true) }

// boundAddr is where this node listens.
func (p *peers) boundAddr() string { return p.socket.Addr().String() }

// dial connects to a node for gRPC and shakes hands with it.
func (p *peers) dial(ctx context.Context, nodeID string) (net.Conn, error) {
	return p.dialKind(ctx, nodeID, connGRPC)
}

func (p *peers) dialKind(ctx context.Context, nodeID string, kind connKind) (net.Conn, error) {
	address := p.book.lookup(nodeID)
	if address == "" {
		return nil, fmt.Errorf("the address of node %s is not known yet", nodeID)
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.timeout)
	defer cancel()
	socket, err := p.network.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to node %s: %w", nodeID, err)
	}
	conn, err := p.track(socket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = p.greet(conn, nodeID, kind)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("node %s at %s: %w", nodeID, address, err)
	}
	return conn, nil
}

func (p *peers) greet(conn *peerConn, nodeID string, kind connKind) error {
	greeting := hello{kind: kind, group: thisGroup, from: p.config.nodeID, to: nodeID, cluster: p.config.clusterID(), formats: p.config.formats()}
	if kind == connFormation {
		greeting.cluster = ""
	} else if greeting.cluster == "" && kind != connMembers {
		return errors.New("this node belongs to no cluster yet")
	}
	if err := greeting.write(conn); err != nil {
		return err
	}
	theirs, err := readAnswer(conn)
	if err == nil {
		p.noteFormats(conn, nodeID, theirs)
		conn.check()
	} else if errors.Is(err, errFormats) && greeting.cluster != "" && greeting.formats.outdated(theirs) {
		p.config.outdated(tooOld(greeting.formats, nodeID, theirs))
	}
	return err
}

// tooOld tells an operator that this node needs the newer program.
func tooOld(own formatRange, nodeID string, theirs formatRange) error {
	return fmt.Errorf("this program reads format versions up to %d, and node %s of this cluster has %s in force: an upgrade was finalized; start this node with the newer program", own.highest, nodeID, formatRange{theirs.lowest, theirs.lowest})
}

// noteFormats remembers who is at the other end and what it can read, for as long as the
// connection lives.
func (p *peers) noteFormats(conn *peerConn, nodeID string, formats formatRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conn.node, conn.formats = nodeID, formats
}

// formatMaxOf is the highest format that a node has said it can read, on the
// connections that are open now; 0: it has not said.
func (p *peers) formatMaxOf(nodeID string) (highest uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		if formats := uint32(conn.formats.highest); conn.node == nodeID && formats != 0 && (highest == 0 || formats < highest) {
			highest = formats
		}
	}
	return highest
}

// listener accepts the gRPC connections of other nodes, after the handshake.
func (p *peers) listener() net.Listener { return p.incoming[connGRPC] }

// members lists the known nodes of this cluster, without this one, by node id.
func (p *peers) members() []peerMember {
	var members []peerMember
	for _, m := range p.gossip() {
		if m.NodeID == p.config.nodeID || m.ClusterID != p.config.clusterID() {
			continue
		}
		members = append(members, peerMember{NodeID: m.NodeID, Name: m.Name, Address: m.Peer, Version: m.Version, Alive: m.alive})
	}
	return members
}

// address is where a node was last heard of, empty if never.
func (p *peers) address(nodeID string) string { return p.book.lookup(nodeID) }

// disconnect closes the connections that are open now. The listener goes on.
func (p *peers) disconnect() {
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

// close stops listening, closes every connection and waits for the goroutines.
func (p *peers) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	err := p.socket.Close()
	for _, queue := range p.incoming {
		queue.Close()
	}
	p.disconnect()
	p.wg.Wait()
	return err
}
