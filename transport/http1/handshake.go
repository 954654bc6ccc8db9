package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/seriatimq/seriatim/transport/limits"
)

// refuse reports a connection that ends because of its client.
func (c *conn) refuse(why string, err error) {
	if c.server.Refused != nil && c.ctx.Err() == nil {
		c.server.Refused(why, c.accepted.RemoteAddr(), err)
	}
}

// refuseHandshake reports a failed handshake. A client that only checks whether the port is open, such
// as a load balancer, does not count as refused.
func (c *conn) refuseHandshake(err error) {
	if !errors.Is(err, io.EOF) {
		c.refuse(limits.RefusedHandshake, err)
	}
}

// refuseLate reports a connection whose client took too long.
func (c *conn) refuseLate(why string, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.refuse(why, err)
	}
}

// handshakes bounds the TLS handshakes that are computed at once: half of the processors remain for the
// requests of open connections.
type handshakes chan struct{}

func newHandshakes() handshakes { return make(handshakes, max(1, runtime.GOMAXPROCS(0)/2)) }

// handshakeConn holds a turn from begin to end, except while it waits for the client.
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

// NetConn returns the wrapped connection.
func (c *handshakeConn) NetConn() net.Conn { return c.Conn }

func (c *handshakeConn) Read(b []byte) (int, error) {
	if c.computing.Load() {
		<-c.turns
		defer func() { c.turns <- struct{}{} }()
	}
	return c.Conn.Read(b)
}

func (c *handshakeConn) Write(b []byte) (int, error) {
	if c.computing.Load() {
		<-c.turns
		defer func() { c.turns <- struct{}{} }()
	}
	return c.Conn.Write(b)
}
