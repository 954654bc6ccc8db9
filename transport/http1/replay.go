package http1

import (
	"crypto/tls"
	"net"
)

// Replayed returns a connection that yields the given bytes before those of c.
func Replayed(c net.Conn, read []byte) net.Conn {
	r := &replayConn{Conn: c, read: read}
	if secure, ok := c.(secureConn); ok {
		return &secureReplayConn{Conn: r, secure: secure}
	}
	return r
}

// secureConn is a connection with TLS, perhaps replayed.
type secureConn interface{ ConnectionState() tls.ConnectionState }

// replayConn is a connection with bytes that were read before.
type replayConn struct {
	net.Conn
	read []byte
}

// First returns the next byte if it was read before.
func (c *replayConn) First() (first byte, ok bool) {
	if len(c.read) == 0 {
		return 0, false
	}
	return c.read[0], true
}

// NetConn returns the wrapped connection.
func (c *replayConn) NetConn() net.Conn { return c.Conn }

func (c *replayConn) Read(p []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}

// secureReplayConn shows net/http the TLS below.
type secureReplayConn struct {
	net.Conn
	secure secureConn
}

// NetConn returns the connection below.
func (c *secureReplayConn) NetConn() net.Conn { return c.Conn }

// ConnectionState returns the result of the handshake.
func (c *secureReplayConn) ConnectionState() tls.ConnectionState { return c.secure.ConnectionState() }
