// Package connections knows the open connections of a node: their clients, their last requests, and
// the requests that still wait for an answer. A [Table] is bounded, in memory only, and not
// replicated. A request finds its connection without a lock and costs a few atomic operations.
package connections

import (
	"cmp"
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
	id      uint64
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
	byAddress sync.Map // *Connection by port and address, see key
	ids       atomic.Uint64
	open      atomic.Int64
	untracked atomic.Int64
}

// New returns an empty Table.
func New(now func() time.Time) *Table { return &Table{now: now} }

// key identifies a connection: two ports may have clients with the same address.
type key struct{ port, address string }

// Opened adds a connection of a port. closed must be called when it is closed.
func (t *Table) Opened(port string, conn net.Conn) (closed func()) {
	if t.open.Add(1) > openMax {
		t.open.Add(-1)
		t.untracked.Add(1)
		return func() { t.untracked.Add(-1) }
	}
	c := &Connection{id: t.ids.Add(1), port: port, address: conn.RemoteAddr().String(), since: t.now().UnixMilli(), conn: conn}
	t.byAddress.Store(key{port, c.address}, c)
	return func() {
		t.byAddress.CompareAndDelete(key{port, c.address}, c)
		t.open.Add(-1)
	}
}

// Of returns the connection of a request by the address of its client, nil if it is not in the
// table. A nil Table has none.
func (t *Table) Of(port, address string) *Connection {
	if t == nil {
		return nil
	}
	c, _ := t.byAddress.Load(key{port, address})
	found, _ := c.(*Connection)
	return found
}

// List returns the connections that wanted selects, those with the newest requests first, and at
// most limit of them. untracked counts the open connections that are not in the answer.
func (t *Table) List(limit int, wanted func(*State) bool) (list []State, untracked int64) {
	list = []State{}
	t.byAddress.Range(func(_, c any) bool {
		if s := c.(*Connection).state(); wanted(&s) {
			list = append(list, s)
		}
		return true
	})
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
	t.byAddress.Range(func(_, c any) bool {
		if found := c.(*Connection); strconv.FormatUint(found.id, 10) == id {
			closed = found.conn.Close() == nil
			return false
		}
		return true
	})
	return closed
}
