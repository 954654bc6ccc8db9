package http2

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// DefaultStreamsMax bounds the requests under way on all connections of a server.
const DefaultStreamsMax = 65_536

var errCrowded = errors.New("too many requests over HTTP/2 are under way, of this address or of all")

// load counts the handlers of all connections, and of those of each host: one request costs
// little, but a client may have streamsMax on each of its connections. One host cannot have
// the last tenth, which is for the others. Safe for concurrent use.
type load struct {
	max, perHost int64
	running      atomic.Int64

	mu    sync.Mutex
	hosts map[string]*share
}

// share is the part of a load that belongs to one host.
type share struct {
	host    string
	conns   int // with the mutex of the load
	running atomic.Int64
}

func newLoad(limit int) *load {
	return &load{max: int64(limit), perHost: int64(limit - limit/10), hosts: make(map[string]*share)}
}

// share is that of a host, which release gives back once.
func (l *load) share(remote net.Addr) *share {
	host := hostlimit.HostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.hosts[host]
	if s == nil {
		s = &share{host: host}
		l.hosts[host] = s
	}
	s.conns++
	return s
}

func (l *load) release(s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.conns--; s.conns == 0 {
		delete(l.hosts, s.host)
	}
}

// full reports whether a host may have no further request.
func (l *load) full(s *share) bool { return l.running.Load() >= l.max || s.running.Load() >= l.perHost }

func (l *load) add(s *share, n int64) {
	l.running.Add(n)
	s.running.Add(n)
}
