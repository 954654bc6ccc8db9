package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
)

// Why a connection is refused or ended. The words are labels of a metric.
const (
	// RefusedSilent: no whole request came in time.
	RefusedSilent = "silent"
	// RefusedHandshake: the handshake of TLS failed, or did not end in time.
	RefusedHandshake = "handshake"
	// RefusedSlow: a body did not come in time, or an answer was not read.
	RefusedSlow = "slow"
	// RefusedFlood: too many frames that bring nothing.
	RefusedFlood = "flood"
	// RefusedStreams: too many requests over HTTP/2 are under way.
	RefusedStreams = "streams"
)

// refuse tells of a connection that ends because of what its client did, or did not.
func (c *conn) refuse(why string, err error) {
	if c.server.Refused != nil && c.ctx.Err() == nil {
		c.server.Refused(why, c.accepted.RemoteAddr(), err)
	}
}

// refuseHandshake is about a handshake that failed. Whoever only looks whether the port is
// open, as load balancers do, is not refused.
func (c *conn) refuseHandshake(err error) {
	if !errors.Is(err, io.EOF) {
		c.refuse(RefusedHandshake, err)
	}
}

// refuseLate is about a connection whose client took too long.
func (c *conn) refuseLate(why string, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.refuse(why, err)
	}
}

// NotedRequest is what the connections of a listener can be: told when a whole request came.
type NotedRequest interface{ NoteRequest() }

// NoteRequest tells the listener that a whole request came over a connection, which may be
// one above that of the listener.
func NoteRequest(conn net.Conn) {
	for conn != nil {
		if noted, ok := conn.(NotedRequest); ok {
			noted.NoteRequest()
			return
		}
		above, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		conn = above.NetConn()
	}
}

// handshakes are the turns of those that compute handshakes: half of the processors are left
// for the requests of who is connected already, however many strangers come.
type handshakes chan struct{}

func newHandshakes() handshakes { return make(handshakes, max(1, runtime.GOMAXPROCS(0)/2)) }

// handshakeConn is a connection whose user has a turn from begin to end, but for the time
// that it waits for the other side.
type handshakeConn struct {
	net.Conn
	turns     handshakes
	computing atomic.Bool // in the handshake
}

func (c *handshakeConn) begin() {
	c.turns <- struct{}{}
	c.computing.Store(true)
}

func (c *handshakeConn) end() {
	c.computing.Store(false)
	<-c.turns
}

// NetConn is the connection below.
func (c *handshakeConn) NetConn() net.Conn { return c.Conn }

// Read reads.
func (c *handshakeConn) Read(b []byte) (int, error) {
	if c.computing.Load() {
		<-c.turns
		defer func() { c.turns <- struct{}{} }()
	}
	return c.Conn.Read(b)
}

// Write writes.
func (c *handshakeConn) Write(b []byte) (int, error) {
	if c.computing.Load() {
		<-c.turns
		defer func() { c.turns <- struct{}{} }()
	}
	return c.Conn.Write(b)
}
