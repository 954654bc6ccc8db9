package hostlimit

import (
	"net"
	"sync"
)

// Limit bounds what is open. Safe for concurrent use.
type Limit struct {
	max, perHost int

	mu     sync.Mutex
	open   int
	byHost map[string]int // without hosts that have none
}

// New allows so many in all, and so many for one host.
func New(limit, perHost int) *Limit {
	return &Limit{max: limit, perHost: perHost, byHost: map[string]int{}}
}

// Begin reports whether there is room for one more of an address, and counts it.
func (l *Limit) Begin(remote net.Addr) bool {
	host := hostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.max || l.byHost[host] >= l.perHost {
		return false
	}
	l.open++
	l.byHost[host]++
	return true
}

// End is called once for each that began.
func (l *Limit) End(remote net.Addr) {
	host := hostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byHost[host]--; l.byHost[host] == 0 {
		delete(l.byHost, host)
	}
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String() // of a network without ports, as in tests
	}
	return host
}
