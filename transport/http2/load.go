package http2

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// DefaultStreamsMax bounds the concurrent requests of a server.
const DefaultStreamsMax = 65_536

var errCrowded = errors.New("too many concurrent requests over HTTP/2, of this address or in total")

// load counts the handlers of all connections and of each host, because a client may open
// streamsMax streams on each connection. One host gets at most nine tenths. Safe for concurrent use.
type load struct {
	max, perHost int64
	running      atomic.Int64

	mu    sync.Mutex
	hosts map[string]*share
}

// share is the part of a load that belongs to one host.
type share struct {
	host    string
	conns   int // guarded by the mutex of the load
	running atomic.Int64
}

func newLoad(limit int) *load {
	return &load{max: int64(limit), perHost: int64(limit - limit/10), hosts: make(map[string]*share)}
}

// share returns the share of a host. Each connection releases it once.
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

// full reports whether a host has reached a bound.
func (l *load) full(s *share) bool { return l.running.Load() >= l.max || s.running.Load() >= l.perHost }

func (l *load) add(s *share, n int64) {
	l.running.Add(n)
	s.running.Add(n)
}
