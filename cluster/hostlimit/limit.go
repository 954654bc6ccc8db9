// Package hostlimit limits the open connections of unauthenticated callers, in total and per host.
// It counts refusals and logs them at a limited rate.
package hostlimit

import (
	"net"
	"net/netip"
	"sync"
)

// Limit counts open connections. Safe for concurrent use.
type Limit struct {
	max, perHost int

	mu     sync.Mutex
	open   int
	byHost map[string]int // hosts with open connections
}

// New returns a Limit for all hosts together and for each host.
func New(limit, perHost int) *Limit {
	return &Limit{max: limit, perHost: perHost, byHost: map[string]int{}}
}

// Begin counts a connection and reports true, or reports false if a limit is reached.
func (l *Limit) Begin(remote net.Addr) bool {
	host := HostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.max || l.byHost[host] >= l.perHost {
		return false
	}
	l.open++
	l.byHost[host]++
	return true
}

// End uncounts a connection for which Begin returned true.
func (l *Limit) End(remote net.Addr) {
	host := HostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byHost[host]--; l.byHost[host] == 0 {
		delete(l.byHost, host)
	}
}

// networkBits is the prefix of an IPv6 network: the owner of one address usually has the whole
// network.
const networkBits = 64

// HostOf returns the host of an address. For IPv6 it is the network.
func HostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String() // without a port, as in tests
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, networkBits).Masked().Addr().String()
}
