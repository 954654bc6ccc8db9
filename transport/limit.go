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
