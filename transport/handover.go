package transport

import (
	"net"
	"sync"
)

// handoverListener is a net.Listener for the connections that are handed over to net/http.
// Close may be called more than once.
type handoverListener struct {
	conns chan net.Conn // unbuffered: each connection has an owner that closes it
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newHandoverListener(addr net.Addr) *handoverListener {
	return &handoverListener{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// handOver hands over a connection, or closes it if the listener is closed.
func (l *handoverListener) handOver(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.done:
		_ = conn.Close()
	}
}

// Accept waits for the next connection.
func (l *handoverListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *handoverListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns the address of the client port.
func (l *handoverListener) Addr() net.Addr { return l.addr }
