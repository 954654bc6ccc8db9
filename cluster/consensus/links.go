package consensus

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// linksKept bounds the idle connections kept per node: replication, heartbeats and votes use one
// each.
const linksKept = 3

// link is a connection to another node, for one exchange at a time.
type link struct {
	*wire.Conn
	conn net.Conn
	to   raft.ServerID
}

// links holds the connections that this node opened. It resolves the address of a node id with each
// dial: a node with a new address needs no configuration change. Safe for concurrent use.
type links struct {
	life    context.Context
	network *peernet.Network
	group   uint32
	timeout time.Duration // for dialing, and for an exchange

	mu        sync.Mutex
	idle      map[raft.ServerID][]*link
	open      map[*link]struct{} // idle ones and those in use
	following bool               // another node leads: no connection is kept
	closed    bool
}

func newLinks(life context.Context, network *peernet.Network, group uint32, timeout time.Duration) *links {
	return &links{
		life: life, network: network, group: group, timeout: timeout,
		idle: map[raft.ServerID][]*link{}, open: map[*link]struct{}{},
	}
}

// exchange sends a message and waits for the answer. If a kept connection ended with the process at
// its other end, exchange sends the message over a new one: every message may arrive twice.
func (l *links) exchange(id raft.ServerID, request, answer any) error {
	use, kept, err := l.acquire(id)
	if err != nil {
		return err
	}
	err = l.exchangeOn(use, request, answer)
	if err == nil || !kept || errors.As(err, new(wire.Failure)) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	l.drop(id)
	if use, err = l.dial(id, peernet.KindConsensus); err != nil {
		return err
	}
	return l.exchangeOn(use, request, answer)
}

func (l *links) exchangeOn(use *link, request, answer any) error {
	err := use.conn.SetDeadline(environment.DeadlineAfter(l.timeout))
	if err == nil {
		err = use.Ask(request)
	}
	if err == nil {
		err = use.Answer(answer)
	}
	if err == nil || errors.As(err, new(wire.Failure)) {
		l.keep(use)
	} else {
		l.end(use)
	}
	return err
}

// acquire returns an idle connection, or a new one.
func (l *links) acquire(id raft.ServerID) (use *link, kept bool, err error) {
	l.mu.Lock()
	if idle := l.idle[id]; len(idle) > 0 {
		use = idle[len(idle)-1]
		l.idle[id] = idle[:len(idle)-1]
	}
	l.mu.Unlock()
	if use != nil {
		return use, true, nil
	}
	use, err = l.dial(id, peernet.KindConsensus)
	return use, false, err
}

// dial opens a connection for one kind of messages.
func (l *links) dial(id raft.ServerID, kind peernet.Kind) (*link, error) {
	ctx, cancel := context.WithTimeout(l.life, l.timeout)
	defer cancel()
	conn, err := l.network.Dial(ctx, string(id), kind, l.group)
	if err != nil {
		return nil, unreachable{Err: err}
	}
	use := &link{Conn: wire.NewConn(conn), conn: conn, to: id}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.open[use] = struct{}{}
	}
	l.mu.Unlock()
	if closed {
		use.conn.Close()
		return nil, errInboundEnds
	}
	return use, nil
}

// keep stores a connection whose last exchange is complete.
func (l *links) keep(use *link) {
	l.mu.Lock()
	_, open := l.open[use]
	if idle := l.idle[use.to]; open && !l.following && len(idle) < linksKept {
		l.idle[use.to] = append(idle, use)
		use = nil
	}
	l.mu.Unlock()
	if use != nil {
		l.end(use)
	}
}

// follow sets whether another node leads. A follower closes idle connections: if unused, they would
// not show that the other node ended, and FormatMaxOf would still count its program.
func (l *links) follow(another bool) {
	var kept []*link
	l.mu.Lock()
	l.following = another
	if another {
		for _, idle := range l.idle { // order does not matter: all are closed
			kept = append(kept, idle...)
		}
		clear(l.idle)
	}
	l.mu.Unlock()
	for _, use := range kept {
		l.end(use)
	}
}

// end closes a connection in use. It may be called more than once.
func (l *links) end(use *link) {
	l.mu.Lock()
	delete(l.open, use)
	l.mu.Unlock()
	use.conn.Close()
}

// drop closes the idle connections to a node.
func (l *links) drop(id raft.ServerID) {
	l.mu.Lock()
	idle := l.idle[id]
	delete(l.idle, id)
	l.mu.Unlock()
	for _, use := range idle {
		l.end(use)
	}
}

// disconnect closes all connections, including those in use.
func (l *links) disconnect() {
	l.mu.Lock()
	open := make([]*link, 0, len(l.open))
	for use := range l.open { // order does not matter: all are closed
		open = append(open, use)
	}
	clear(l.open)
	clear(l.idle)
	l.mu.Unlock()
	for _, use := range open {
		use.conn.Close()
	}
}

// close closes all connections, and prevents new ones.
func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.disconnect()
}
