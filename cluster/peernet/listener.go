package peernet

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// accept accepts connections until the socket is closed. Each handshake has its own goroutine, so
// that a silent connection delays no other.
func (p *Network) accept() {
	for {
		socket, err := p.socket.Accept()
		if err != nil {
			if p.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			p.options.Logger.Warn("a connection of another node could not be accepted", "error", err)
			if !wakeup.Sleep(p.ctx, acceptPause) {
				return
			}
			continue
		}
		limit := p.handshakesOf(socket.RemoteAddr())
		if !limit.Begin(socket.RemoteAddr()) {
			p.refuse(refusedBusy, slog.LevelWarn, "refused a connection to the peer port", "remote", socket.RemoteAddr().String(),
				"reason", "too many handshakes are in progress")
			socket.Close()
			continue
		}
		conn, err := p.track(socket, p.accepted(socket))
		if err != nil {
			limit.End(socket.RemoteAddr())
			return
		}
		p.wg.Go(func() { p.handshake(conn, limit) })
	}
}

// connsPerNode bounds the connections that one other node has opened, connsMax those of all nodes.
// A node needs about ten; more are broken or belong to an attacker.
const (
	connsPerNode = 64
	connsMax     = 1024
)

var errTooMany = errors.New("too many connections of other nodes are open")

// full reports whether this node accepts no more connections.
func (p *Network) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := 0
	for conn := range p.conns {
		if conn.arrived != 0 {
			open++
		}
	}
	return open >= connsMax
}

// makeRoom counts an accepted connection, and closes its node's oldest one if there are too many.
func (p *Network) makeRoom(conn *peerConn) {
	p.mu.Lock()
	p.arrivals++
	conn.arrived = p.arrivals
	var oldest *peerConn
	open := 0
	for other := range p.conns {
		if other.arrived != 0 && other.node == conn.node {
			open++
			if oldest == nil || other.arrived < oldest.arrived {
				oldest = other
			}
		}
	}
	p.mu.Unlock()
	if open > connsPerNode {
		p.refuse(refusedExcess, slog.LevelWarn, "a node has too many connections open, the oldest is closed", "from", conn.node, "open",
			open)
		oldest.Close()
	}
}

// acceptPause keeps a node without free file descriptors from spinning.
const acceptPause = 50 * time.Millisecond

// handshake answers the dialing node. It queues the connection for its purpose, or closes it.
func (p *Network) handshake(conn *peerConn, limit *hostlimit.Limit) {
	watchdog := time.AfterFunc(p.options.Timeout, func() { conn.Close() })
	theirs, err := readHello(conn)
	var objection error
	own := p.options.Formats()
	if err == nil {
		objection = p.objection(conn, theirs, own)
		err = answerHello(conn, publicReason(objection), own)
	}
	late := !watchdog.Stop()
	limit.End(conn.RemoteAddr())
	if err != nil || late {
		p.refuseHandshake(conn.RemoteAddr(), err, late)
		conn.Close()
		return
	}
	if objection != nil {
		// The other nodes retry until this one has started.
		if !errors.Is(objection, errStarting) {
			p.refuse(refusedObjection, slog.LevelWarn, "refused a connection of another node",
				"from", theirs.from, "remote", conn.RemoteAddr().String(), "kind", theirs.kind.String(), "reason", objection)
		}
		conn.Close()
		if errors.Is(objection, ErrFormats) && theirs.cluster != "" && theirs.cluster == p.options.ClusterID() &&
			own.outdated(theirs.formats) {
			p.options.Outdated(tooOld(own, theirs.from, theirs.formats))
		}
		return
	}
	p.established(conn, theirs.from, theirs.formats)
	p.makeRoom(conn)
	if !theirs.kind.framed() {
		conn.check()
	}
	p.queue(purpose{theirs.kind, theirs.group}).put(conn)
}

// errNotHere answers a node that has not proved that it belongs to this cluster, without the reason.
var errNotHere = errors.New("this node refuses the connection; see its log for the reason")

// unauthenticated wraps an objection to a node that has not proved that it belongs to this cluster.
type unauthenticated struct{ error }

// publicReason returns the error to send to the dialing node.
func publicReason(objection error) error {
	if errors.As(objection, new(unauthenticated)) {
		return errNotHere
	}
	return objection
}

// objection returns the reason to refuse a connection, or nil.
func (p *Network) objection(conn *peerConn, h hello, formats FormatRange) error {
	if err := p.checkCertificate(conn, h.from); err != nil {
		return unauthenticated{err}
	}
	own := p.options.ClusterID()
	// One of the two may have no cluster yet and join one, see cluster/membership/join.go.
	unbound := h.kind == KindBootstrap || h.kind == KindMembership && (h.cluster == "" || own == "")
	switch {
	case h.to != p.options.NodeID:
		return unauthenticated{fmt.Errorf("this is node %s, not %s", p.options.NodeID, h.to)}
	case !unbound && own == "":
		return unauthenticated{fmt.Errorf("node %s belongs to no cluster yet", p.options.NodeID)}
	case !unbound && h.cluster != own && p.options.WentOn != nil && p.options.WentOn(h.cluster):
		return fmt.Errorf("%w: cluster %s was recovered and is now cluster %s", ErrEnded, h.cluster, own)
	case !unbound && h.cluster != own:
		return unauthenticated{fmt.Errorf("node %s belongs to cluster %s, not to %s", p.options.NodeID, own, h.cluster)}
	}
	switch {
	case p.queue(purpose{h.kind, h.group}) != nil:
	case p.queue(purpose{h.kind, 0}) == nil:
		return fmt.Errorf("%s is not a known kind of connection", h.kind)
	default:
		return fmt.Errorf("there is no group %d here", h.group)
	}
	switch {
	case p.full():
		return errTooMany
	case !p.opened.Load() && h.kind != KindFailureDetector:
		return errStarting
	case !formats.overlaps(h.formats):
		return fmt.Errorf("%w: node %s has %s, node %s has %s", ErrFormats, p.options.NodeID, formats, h.from, h.formats)
	}
	return nil
}

// track registers a connection for Close. Reads and writes use secured, which may be the socket
// itself.
func (p *Network) track(socket, secured net.Conn) (*peerConn, error) {
	conn := &peerConn{Conn: secured, socket: socket, owner: p}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.conns[conn] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		return nil, errors.Join(ErrClosed, socket.Close())
	}
	return conn, nil
}

// peerConn is a connection with another node.
type peerConn struct {
	net.Conn
	socket net.Conn
	owner  *Network
	// Set by the handshake, under the owner's mu.
	node    string      // at the other end
	formats FormatRange // of that node
	number  uint64      // rank among all handshakes that succeeded, in both directions
	arrived uint64      // rank among connections that other nodes opened; 0: this node opened it
	// stream carries the content after the handshake, nil if the protocol writes frames itself. It
	// is set before other goroutines use the connection.
	stream *checkedStream
}

// check puts all later content into frames.
func (c *peerConn) check() { c.stream = newCheckedStream(plainPeer{c}) }

// Read returns content, which a checkedStream has verified.
func (c *peerConn) Read(content []byte) (int, error) {
	if c.stream == nil {
		return plainPeer{c}.Read(content)
	}
	n, err := c.stream.Read(content)
	if errors.Is(err, frame.ErrDamaged) {
		c.owner.options.Logger.Warn("a connection of another node is closed", "peer", c.node, "error", err)
		c.Close()
	}
	return n, err
}

// Write writes content.
func (c *peerConn) Write(content []byte) (int, error) {
	if c.stream == nil {
		return c.Conn.Write(content)
	}
	return c.stream.Write(content)
}

// WriteBuffers writes several pieces and removes written ones. Without TLS, it makes one call and
// copies nothing.
func (c *peerConn) WriteBuffers(pieces *net.Buffers) error {
	if plain, ok := c.Conn.(*net.TCPConn); ok && c.stream == nil {
		_, err := pieces.WriteTo(plain)
		return err
	}
	size := 0
	for _, piece := range *pieces {
		size += len(piece)
	}
	if size > joinedMax {
		_, err := pieces.WriteTo(c)
		return err
	}
	joined := make([]byte, 0, size)
	for _, piece := range *pieces {
		joined = append(joined, piece...)
	}
	_, err := c.Write(joined)
	return err
}

// WriteNow writes as much as possible without waiting for the other end. With TLS it writes
// nothing.
func (c *peerConn) WriteNow(content []byte) (n int, err error) {
	plain, ok := c.Conn.(*net.TCPConn)
	if !ok || c.stream != nil {
		return 0, nil
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return 0, err
	}
	var written error
	if err := raw.Write(func(fd uintptr) bool {
		n, written = syscall.Write(int(fd), content)
		return true
	}); err != nil {
		return 0, err
	}
	switch {
	case written == nil:
		return n, nil
	case errors.Is(written, syscall.EAGAIN), errors.Is(written, syscall.EINTR):
		return 0, nil
	default:
		return 0, os.NewSyscallError("write", written)
	}
}

// joinedMax bounds the pieces that WriteBuffers copies to write them with one call.
const joinedMax = 64 << 10

// plainPeer is a connection without its checkedStream.
type plainPeer struct{ peer *peerConn }

// Write implements io.Writer.
func (c plainPeer) Write(content []byte) (int, error) { return c.peer.Conn.Write(content) }

// Read implements io.Reader. It reports the other node as lost if the connection has ended.
func (c plainPeer) Read(content []byte) (int, error) {
	n, err := c.peer.Conn.Read(content)
	if err != nil && c.peer.node != "" && gone(err) {
		if lost := c.peer.owner.lost.Load(); lost != nil {
			(*lost)(c.peer.node)
		}
	}
	return n, err
}

// gone reports whether the other end has closed the connection. TLS returns io.ErrUnexpectedEOF if
// it did so without an alert.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// Close closes the connection. You may call it more than once. It closes the socket instead of the
// TLS connection, which would wait for the other end to read an alert.
func (c *peerConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c)
	c.owner.mu.Unlock()
	return c.socket.Close()
}

// connQueue is a net.Listener for the connections of one purpose. Safe for concurrent use.
type connQueue struct {
	addr    net.Addr
	waiting chan net.Conn // unbuffered
	closed  chan struct{}
	once    sync.Once
}

func newConnQueue(addr net.Addr) *connQueue {
	return &connQueue{addr: addr, waiting: make(chan net.Conn), closed: make(chan struct{})}
}

// put waits until the connection is accepted or the queue is closed.
func (q *connQueue) put(conn net.Conn) {
	select {
	case q.waiting <- conn:
	case <-q.closed:
		conn.Close()
	}
}

// Accept waits for the next connection.
func (q *connQueue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.waiting:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return and refuses further connections.
func (q *connQueue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr returns the id of the node.
func (q *connQueue) Addr() net.Addr { return q.addr }

// nodeAddr is a node id as a net.Addr.
type nodeAddr string

func (nodeAddr) Network() string  { return "node" }
func (a nodeAddr) String() string { return string(a) }
