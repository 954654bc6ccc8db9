package transport

import (
	"net"
	"sync"
	"sync/atomic"
)

// limitListener accepts only so many connections at a time; further ones stay
// in the backlog of the kernel. Safe for concurrent use.
type limitListener struct {
	net.Listener
	slots chan struct{} // capacity: the most connections; an element is one open connection
	done  chan struct{} // closed by Close
	once  sync.Once
	open  atomic.Int64
	held  atomic.Uint64 // times a connection had to wait for another to end
}

func newLimitListener(l net.Listener, connectionsMax int) *limitListener {
	return &limitListener{Listener: l, slots: make(chan struct{}, connectionsMax), done: make(chan struct{})}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	default:
		l.held.Add(1)
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	l.open.Add(1)
	return &limitConn{Conn: conn, release: sync.OnceFunc(func() {
		l.open.Add(-1)
		<-l.slots
	})}, nil
}

func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitConn struct {
	net.Conn
	release func()
}

func (c *limitConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// handoverListener brings net/http the connections that are for it. It
// implements net.Listener; Close may be called more than once.
type handoverListener struct {
	conns chan net.Conn // unbuffered: a connection always has an owner who will close it
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newHandoverListener(addr net.Addr) *handoverListener {
	return &handoverListener{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// handOver hands over a connection, or closes it if nobody takes it any more.
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

// Addr is the address of the listener the connections come from.
func (l *handoverListener) Addr() net.Addr { return l.addr }
