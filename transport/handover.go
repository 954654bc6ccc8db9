package transport

import (
	"context"
	"net"
	"sync"

	"github.com/seriatimq/seriatim/transport/connections"
)

// amqpFirst is the first byte of the protocol headers of AMQP. No method of HTTP that the port serves
// begins with it.
const amqpFirst = 'A'

// handOver passes on a connection that http1 does not serve, by its first byte.
func (s *Server) handOver(conn net.Conn) {
	begun, ok := connections.As[interface{ First() (byte, bool) }](conn)
	if ok && s.amqp != nil {
		if first, read := begun.First(); read && first == amqpFirst {
			s.amqp.Serve(conn)
			return
		}
	}
	s.http2.Serve(conn)
}

// shutdownAMQP closes the connections of AMQP.
func (s *Server) shutdownAMQP(ctx context.Context) error {
	if s.amqp == nil {
		return nil
	}
	return s.amqp.Shutdown(ctx)
}

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
