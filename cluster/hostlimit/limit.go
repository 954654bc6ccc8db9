// Package hostlimit bounds how many connections unauthenticated callers may keep open, in all
// and for each host. It counts refusals and logs them seldom.
package hostlimit

import (
	"net"
	"net/netip"
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

// End is called once for each that began.
func (l *Limit) End(remote net.Addr) {
	host := HostOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byHost[host]--; l.byHost[host] == 0 {
		delete(l.byHost, host)
	}
}

// networkBits are those of an address of IPv6 that name its network: whoever has one address of
// a network has all of them.
const networkBits = 64

// HostOf is what counts as the host of an address: its network, if it is of IPv6.
func HostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String() // of a network without ports, as in tests
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
