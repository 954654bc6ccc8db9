package peernet

import (
	"net"
	"sync"
)

const (
	// handshakesMax is how many dialing nodes may keep this one waiting for who they
	// are; a cluster has a handful of nodes with a few connections each.
	handshakesMax = 256
	// handshakesPerHost leaves room for the other nodes when somebody opens connections
	// and says nothing.
	handshakesPerHost = 64
)

// handshakes counts the connections that have not said yet who they are. Safe for
// concurrent use.
type handshakes struct {
	mu     sync.Mutex
	open   int
	byHost map[string]int // without hosts that have none
}

// beginHandshake reports whether one more connection of a host may shake hands.
func (p *Network) beginHandshake(remote net.Addr) bool {
	h, host := &p.handshakes, hostOf(remote)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open >= handshakesMax || h.byHost[host] >= handshakesPerHost {
		return false
	}
	h.open++
	h.byHost[host]++
	return true
}

// endHandshake is called once for each that began.
func (p *Network) endHandshake(remote net.Addr) {
	h, host := &p.handshakes, hostOf(remote)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if h.byHost[host]--; h.byHost[host] == 0 {
		delete(h.byHost, host)
	}
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String() // of a network without ports, as in tests
	}
	return host
}
