package forward

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/peer"
)

// numberedListener numbers connections in the order in which they are accepted. A node
// opens one only when it has given up the one before, so that the numbers tell which
// of its streams is the newest, in whatever order their first frames arrive.
type numberedListener struct {
	net.Listener
	last *atomic.Uint64 // of all listeners
}

// Accept returns the next connection.
func (l *numberedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return numberedConn{conn, l.last.Add(1)}, nil
}

// numberedConn has its number in its remote address, which the library hands to the
// streams on it.
type numberedConn struct {
	net.Conn
	number uint64
}

// RemoteAddr is the address of the other end, with the number of the connection.
func (c numberedConn) RemoteAddr() net.Addr { return numberedAddr{c.Conn.RemoteAddr(), c.number} }

type numberedAddr struct {
	net.Addr
	number uint64
}

// connectionOf is the number of the connection under a stream, zero if it has none.
func connectionOf(stream context.Context) uint64 {
	if p, ok := peer.FromContext(stream); ok {
		if numbered, ok := p.Addr.(numberedAddr); ok {
			return numbered.number
		}
	}
	return 0
}
