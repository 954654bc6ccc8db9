package unverified

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/transport/connections"
)

// Conn is a connection of a port. Safe for concurrent use, as connections are.
type Conn struct {
	net.Conn
	limiter   *Limiter
	paid      *atomic.Int64 // the element of Limiter.paid for its address
	trusted   atomic.Bool   // the last request was verified
	notBefore atomic.Int64  // Unix nanoseconds: the next request waits until then
	holds     atomic.Int32  // len(holding)
	socket    syscall.RawConn

	// Guarded by the mutex of the limiter.
	holding []*Turn
	waiting []*Turn
	next    *Conn // in the line
}

// Of returns the Conn that a connection wraps, nil if there is none.
func Of(conn net.Conn) *Conn {
	c, _ := connections.As[*Conn](conn)
	return c
}

// NetConn returns the wrapped connection.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Write writes. It ends the turns of the connection before it waits for the client.
func (c *Conn) Write(b []byte) (int, error) {
	if c.holds.Load() == 0 {
		return c.Conn.Write(b)
	}
	n, err := c.writeNow(b)
	if n == len(b) || err != nil {
		return n, err
	}
	c.Yield()
	more, err := c.Conn.Write(b[n:])
	return n + more, err
}

// Yield ends the turns of all requests of the connection.
func (c *Conn) Yield() {
	if c == nil || c.holds.Load() == 0 {
		return
	}
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	for len(c.holding) > 0 {
		c.limiter.release(c.holding[0])
	}
}

// Refused notes a refused request: the connection loses its trust, and its next request waits if its
// address had too many.
func (c *Conn) Refused(size int64) {
	if c == nil {
		return
	}
	c.trusted.Store(false)
	c.notBefore.Store(c.limiter.charge(c.paid, size))
}

// awaitRate waits until notBefore.
func (c *Conn) awaitRate() {
	left := c.notBefore.Load()
	if left == 0 {
		return
	}
	wait := time.Duration(left - c.limiter.now().UnixNano())
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(min(wait, refusalWaitMax))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.limiter.ended:
	}
}

// SocketOf returns the socket of a connection, nil if unknown.
func SocketOf(conn net.Conn) syscall.RawConn {
	known, ok := connections.As[syscall.Conn](conn)
	if !ok {
		return nil
	}
	socket, err := known.SyscallConn()
	if err != nil {
		return nil
	}
	return socket
}
