// Package connections knows the open connections of a node: their clients, their last requests, and
// the requests that still wait for an answer. A [Table] is bounded, in memory only, and not
// replicated. A request finds its connection in its context, and costs a few atomic operations.
package connections

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// openMax bounds the connections in a table. Further ones are only counted.
	openMax = 8192
	// textMax bounds the texts of clients, in bytes.
	textMax = 256
	// doingsMax is the number of kinds of requests that a connection remembers, so that a client
	// that alternates between them causes no allocation.
	doingsMax = 4
)

// Doing describes a request.
type Doing struct {
	Protocol  string
	Action    string
	Queue     string // or topic
	AccessKey string
	UserAgent string
}

// Connection is one open connection. Begin and End do nothing for a nil Connection. Safe for
// concurrent use.
type Connection struct {
	table   *Table
	id      uint64 // 0: not in the table
	port    string
	address string
	since   int64 // ms
	conn    net.Conn

	last     atomic.Int64 // ms
	requests atomic.Int64
	waiting  atomic.Int64
	doing    atomic.Pointer[Doing] // of the last request
	recent   [doingsMax]atomic.Pointer[Doing]
	next     atomic.Uint32 // place in recent
}

// Begin notes that a request came.
func (c *Connection) Begin(now time.Time) {
	if c == nil {
		return
	}
	c.last.Store(now.UnixMilli())
	c.requests.Add(1)
	c.waiting.Add(1)
}

// Note notes the purpose of the last request, and returns its copy of the texts.
func (c *Connection) Note(d Doing) *Doing {
	d.UserAgent = d.UserAgent[:min(len(d.UserAgent), textMax)]
	d.AccessKey = d.AccessKey[:min(len(d.AccessKey), textMax)]
	d.Queue = d.Queue[:min(len(d.Queue), textMax)]
	if now := c.doing.Load(); now != nil && *now == d {
		return now
	}
	for i := range c.recent {
		if known := c.recent[i].Load(); known != nil && *known == d {
			c.doing.Store(known)
			return known
		}
	}
	kept := &Doing{
		Protocol: d.Protocol, Action: strings.Clone(d.Action), Queue: strings.Clone(d.Queue), AccessKey: strings.Clone(d.AccessKey),
		UserAgent: strings.Clone(d.UserAgent),
	}
	c.recent[c.next.Add(1)%doingsMax].Store(kept)
	c.doing.Store(kept)
	return kept
}

// End notes that a request is answered.
func (c *Connection) End() {
	if c != nil {
		c.waiting.Add(-1)
	}
}

// State describes a connection at one moment.
type State struct {
	Doing
	ID                     string
	Port                   string
	Address                string
	SinceMs, LastRequestMs int64
	Requests, Waiting      int64
}

func (c *Connection) state() State {
	s := State{
		ID: strconv.FormatUint(c.id, 10), Port: c.port, Address: c.address, SinceMs: c.since, LastRequestMs: c.last.Load(),
		Requests: c.requests.Load(), Waiting: c.waiting.Load(),
	}
	if d := c.doing.Load(); d != nil {
		s.Doing = *d
	}
	return s
}

// Table holds the open connections of all ports of a node. Made by New; safe for concurrent use.
type Table struct {
	now       func() time.Time
	untracked atomic.Int64

	mu   sync.Mutex
	last uint64 // id
	open map[uint64]*Connection
}

// New returns an empty Table.
func New(now func() time.Time) *Table { return &Table{now: now, open: make(map[uint64]*Connection)} }

// Opened returns a new Connection of a port. Its Closed must be called when it is closed.
func (t *Table) Opened(port string, conn net.Conn) *Connection {
	c := &Connection{table: t, port: port, address: conn.RemoteAddr().String(), since: t.now().UnixMilli(), conn: conn}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == openMax {
		t.untracked.Add(1)
		return c
	}
	t.last++
	c.id = t.last
	t.open[c.id] = c
	return c
}

// Closed removes the connection from its Table.
func (c *Connection) Closed() {
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.id == 0 {
		t.untracked.Add(-1)
	}
	delete(t.open, c.id)
}

// all returns the connections in the table.
func (t *Table) all() []*Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.open))
}

// List returns the connections that wanted selects, those with the newest requests first, and at
// most limit of them. untracked counts the open connections that are not in the answer.
func (t *Table) List(limit int, wanted func(*State) bool) (list []State, untracked int64) {
	list = []State{}
	for _, c := range t.all() {
		if s := c.state(); wanted(&s) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b State) int {
		return cmp.Or(cmp.Compare(b.LastRequestMs, a.LastRequestMs), strings.Compare(a.ID, b.ID))
	})
	untracked = t.untracked.Load()
	if len(list) > limit {
		untracked += int64(len(list) - limit)
		list = list[:limit]
	}
	return list, untracked
}

// Close closes a connection by its id, and reports whether it was open.
func (t *Table) Close(id string) (closed bool) {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return false
	}
	t.mu.Lock()
	found := t.open[number]
	t.mu.Unlock()
	return found != nil && found.conn.Close() == nil
}
