package limits

import (
	"container/list"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Listener bounds the open connections, in total and of each address. When all places are taken, the
// next connection waits, and the oldest connection without a whole request is closed: of the same
// address if that has too many. So silent clients cannot keep others out. Safe for concurrent use.
type Listener struct {
	net.Listener
	hosts   *hostlimit.Limit
	refused *hostlimit.Refusals
	work    *unverified.Limiter
	opened  func(net.Conn) *connections.Connection // may be nil
	slots   chan struct{}                          // capacity: the most connections; an element is one open connection
	done    chan struct{}                          // closed by Close
	once    sync.Once
	open    atomic.Int64
	held    atomic.Uint64 // times a connection had to wait for another to end

	mu     sync.Mutex
	silent list.List             // of *limitedConn: without a whole request, the oldest first
	byHost map[string]*list.List // the same of each host; only those with any
}

// Config describes a Listener.
type Config struct {
	ConnectionsMax int
	// PerAddress bounds the connections of one address; 0: nine tenths of ConnectionsMax.
	PerAddress int
	Logger     *slog.Logger
	Now        func() time.Time
	// Opened registers each accepted connection; may be nil.
	Opened func(net.Conn) *connections.Connection
}

// NewListener bounds the connections of a listener.
func NewListener(l net.Listener, cfg Config) *Listener {
	perAddress := cfg.PerAddress
	if perAddress == 0 {
		perAddress = cfg.ConnectionsMax - cfg.ConnectionsMax/10
	}
	if perAddress >= cfg.ConnectionsMax {
		perAddress = math.MaxInt // further connections wait
	}
	return &Listener{
		Listener: l, hosts: hostlimit.New(math.MaxInt, perAddress), refused: newRefusals(cfg.Logger, cfg.Now),
		work: unverified.New(cfg.Now), opened: cfg.Opened,
		slots: make(chan struct{}, cfg.ConnectionsMax), done: make(chan struct{}), byHost: make(map[string]*list.List),
	}
}

// Connections counts the connections of a Listener.
type Connections struct {
	Open  int
	Limit int
	// Held counts how often a connection had to wait for another to end.
	Held    uint64
	Refused []Refused
}

// Connections returns the counts.
func (l *Listener) Connections() Connections {
	return Connections{Open: int(l.open.Load()), Limit: cap(l.slots), Held: l.held.Load(), Refused: l.refusals()}
}

// EndWaits ends the waits of refused requests, so that their connections can end.
func (l *Listener) EndWaits() { l.work.Close() }

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
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
			l.refused.Refuse(RefusedAddress, slog.LevelWarn, "refused a connection: its address has too many open", "remote",
				conn.RemoteAddr().String())
			_ = conn.Close() // the connection is refused in any case
			continue
		}
		if !l.takeSlot() {
			l.hosts.End(conn.RemoteAddr())
			_ = conn.Close() // the connection is refused in any case
			return nil, net.ErrClosed
		}
		l.open.Add(1)
		accepted := &limitedConn{Conn: conn, listener: l, host: host}
		if l.opened != nil {
			accepted.tracked = l.opened(accepted)
		}
		l.noteSilent(accepted)
		return l.work.Wrap(accepted), nil
	}
}

// takeSlot waits for a place. It reports false if the listener is closed.
func (l *Listener) takeSlot() bool {
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

// noteSilent registers a connection that has not sent a whole request yet.
func (l *Listener) noteSilent(c *limitedConn) {
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

// closeOldest closes the oldest connection that has sent no whole request, of one host unless host is
// empty. It reports false if there is none.
func (l *Listener) closeOldest(host string) bool {
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
	conn := oldest.Value.(*limitedConn)
	l.refused.Refuse(RefusedRoom, slog.LevelWarn, "all connections are taken: one that has brought no request is closed", "remote",
		conn.RemoteAddr().String())
	_ = conn.Close() // the connection is gone in any case
	return true
}

// Close ends Accept.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// limitedConn is a connection that holds a place until it is closed.
type limitedConn struct {
	net.Conn
	listener *Listener
	host     string
	silent   *list.Element // its place among those without a whole request; nil: not among them
	ofHost   *list.Element // and among those of its host
	closed   sync.Once
	tracked  *connections.Connection // may be nil
}

// NetConn returns the wrapped connection.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

// Connection returns the record of the connection, which may be nil.
func (c *limitedConn) Connection() *connections.Connection { return c.tracked }

// NoteRequest notes that a whole request came: the connection is no longer silent.
func (c *limitedConn) NoteRequest() {
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
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.NoteRequest()
		if c.tracked != nil {
			c.tracked.Closed()
		}
		c.listener.hosts.End(c.RemoteAddr())
		c.listener.open.Add(-1)
		<-c.listener.slots
	})
	return err
}

// NoteRequest tells the Listener that a whole request came over a connection, which may be wrapped.
func NoteRequest(conn net.Conn) {
	if noted, ok := connections.As[interface{ NoteRequest() }](conn); ok {
		noted.NoteRequest()
	}
}
