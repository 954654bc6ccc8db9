package transport

import (
	"container/list"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// limitListener accepts only so many connections at a time, in all and of each address.
// When all places are taken the next one waits, and the oldest that has not brought a whole
// request is closed, of the same address if that has too many: who says nothing keeps nobody
// out. Safe for concurrent use.
type limitListener struct {
	net.Listener
	limits
	slots chan struct{} // capacity: the most connections; an element is one open connection
	done  chan struct{} // closed by Close
	once  sync.Once
	open  atomic.Int64
	held  atomic.Uint64 // times a connection had to wait for another to end

	mu     sync.Mutex
	silent list.List             // of *limitConn: without a whole request, the oldest first
	byHost map[string]*list.List // the same of each host; only those with any
}

// limits are those of a listener.
type limits struct {
	hosts   *hostlimit.Limit
	refused *hostlimit.Refusals
	work    *unverified.Limiter
}

func newLimitListener(l net.Listener, connectionsMax, perAddress int, refused *hostlimit.Refusals, work *unverified.Limiter) *limitListener {
	if perAddress >= connectionsMax {
		perAddress = math.MaxInt // what is too much waits
	}
	return &limitListener{
		Listener: l, limits: limits{hosts: hostlimit.New(math.MaxInt, perAddress), refused: refused, work: work},
		slots: make(chan struct{}, connectionsMax), done: make(chan struct{}), byHost: make(map[string]*list.List),
	}
}

// Accept waits for the next connection.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		if len(l.slots) == cap(l.slots) {
			l.held.Add(1)
		}
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostlimit.HostOf(conn.RemoteAddr())
		if !l.hosts.Begin(conn.RemoteAddr()) && !(l.closeOldest(host) && l.hosts.Begin(conn.RemoteAddr())) {
			l.refused.Refuse(refusedAddress, slog.LevelWarn, "refused a connection: its address has too many open", "remote", conn.RemoteAddr().String())
			_ = conn.Close() // nobody is left who would hear of an error
			continue
		}
		if !l.takeSlot() {
			l.hosts.End(conn.RemoteAddr())
			_ = conn.Close() // nobody is left who would hear of an error
			return nil, net.ErrClosed
		}
		l.open.Add(1)
		accepted := &limitConn{Conn: conn, listener: l, host: host}
		l.noteSilent(accepted)
		return l.work.Wrap(accepted), nil
	}
}

// takeSlot waits for a place. It reports false if there will be none.
func (l *limitListener) takeSlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	l.closeOldest("")
	select {
	case l.slots <- struct{}{}:
		return true
	case <-l.done:
		return false
	}
}

// noteSilent notes a connection that has not brought a request yet.
func (l *limitListener) noteSilent(c *limitConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.silent = l.silent.PushBack(c)
	ofHost := l.byHost[c.host]
	if ofHost == nil {
		ofHost = list.New()
		l.byHost[c.host] = ofHost
	}
	c.ofHost = ofHost.PushBack(c)
}

// closeOldest closes the oldest connection that has brought no request, of a host unless that is
// empty. It reports false if there is none.
func (l *limitListener) closeOldest(host string) bool {
	l.mu.Lock()
	from := &l.silent
	if host != "" {
		from = l.byHost[host]
	}
	var oldest *list.Element
	if from != nil {
		oldest = from.Front()
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	conn := oldest.Value.(*limitConn)
	l.refused.Refuse(refusedRoom, slog.LevelWarn, "all connections are taken: one that has brought no request is closed", "remote", conn.RemoteAddr().String())
	_ = conn.Close() // whatever it says, the connection is gone
	return true
}

// Close ends Accept.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// limitConn is a connection that holds a place until it is closed.
type limitConn struct {
	net.Conn
	listener *limitListener
	host     string
	silent   *list.Element // its place among those without a whole request; nil: not among them
	ofHost   *list.Element // and among those of its host
	closed   sync.Once
}

// NetConn is the connection below.
func (c *limitConn) NetConn() net.Conn { return c.Conn }

// NoteRequest notes that a whole request came.
func (c *limitConn) NoteRequest() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.silent != nil {
		l.silent.Remove(c.silent)
		of := l.byHost[c.host]
		if of.Remove(c.ofHost); of.Len() == 0 {
			delete(l.byHost, c.host)
		}
		c.silent, c.ofHost = nil, nil
	}
}

// Close closes the connection; more than once is allowed.
func (c *limitConn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.NoteRequest()
		c.listener.hosts.End(c.RemoteAddr())
		c.listener.open.Add(-1)
		<-c.listener.slots
	})
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
