package discovery

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// How many packets a second are decrypted, and how many at once. A node sends another one
// a few a second. The source of a packet can be forged: a flood in the name of a member
// costs that member its packets, beside which the library asks over a connection.
const (
	packetsOfMember    = 1000 // of a host with a member
	packetsOfStranger  = 100  // of any other host
	packetsOfStrangers = 500  // of all those together
	// hostsMax bounds the hosts that are counted by themselves; the others share one count.
	hostsMax = 1024
)

// packetLimit drops packets before they are decrypted when too many come. Members have
// counts of their own, so that a flood of strangers takes nothing from them. Safe for
// concurrent use.
type packetLimit struct {
	monotonic func() time.Duration

	mu        sync.Mutex
	members   map[netip.Addr]*bucket
	hosts     map[netip.Addr]*bucket
	strangers bucket
	swept     time.Duration
	dropped   bool // some were
	told      time.Duration
}

// bucket holds what may still come of a kind.
type bucket struct {
	left float64
	at   time.Duration
}

func newPacketLimit(monotonic func() time.Duration) *packetLimit {
	return &packetLimit{
		monotonic: monotonic, members: map[netip.Addr]*bucket{}, hosts: map[netip.Addr]*bucket{},
		strangers: bucket{left: packetsOfStrangers},
	}
}

// knows notes the host of a node that has the key.
func (l *packetLimit) knows(ip net.IP) {
	host, ok := netip.AddrFromSlice(ip)
	if !ok {
		return
	}
	host = host.Unmap()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members[host] == nil && len(l.members) < hostsMax {
		l.members[host] = &bucket{left: packetsOfMember}
		delete(l.hosts, host)
	}
}

// allows reports whether a packet may be decrypted. If not, tell says whether it is time
// for a line in the log.
func (l *packetLimit) allows(from net.Addr) (allowed, tell bool) {
	host, now := hostOf(from), l.monotonic()
	l.mu.Lock()
	defer l.mu.Unlock()
	if member := l.members[host]; member != nil {
		allowed = member.take(now, packetsOfMember)
	} else {
		allowed = l.host(host, now).take(now, packetsOfStranger) && l.strangers.take(now, packetsOfStrangers)
	}
	if !allowed && (!l.dropped || now-l.told >= lineLimitPause) {
		l.dropped, l.told, tell = true, now, true
	}
	return allowed, tell
}

// host is the count of a stranger.
func (l *packetLimit) host(host netip.Addr, now time.Duration) *bucket {
	if b := l.hosts[host]; b != nil {
		return b
	}
	if len(l.hosts) >= hostsMax && now-l.swept >= time.Second {
		l.swept = now
		for other, b := range l.hosts { // in any order: those that were silent go
			if b.fill(now, packetsOfStranger); b.left == packetsOfStranger {
				delete(l.hosts, other)
			}
		}
	}
	if len(l.hosts) >= hostsMax {
		host = netip.Addr{} // one for all of them
		if b := l.hosts[host]; b != nil {
			return b
		}
	}
	b := &bucket{packetsOfStranger, now}
	l.hosts[host] = b
	return b
}

func (b *bucket) fill(now time.Duration, perSecond float64) {
	b.left = min(perSecond, b.left+(now-b.at).Seconds()*perSecond)
	b.at = now
}

func (b *bucket) take(now time.Duration, perSecond float64) bool {
	b.fill(now, perSecond)
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// hostOf is the zero address for one without.
func hostOf(address net.Addr) netip.Addr {
	if udp, ok := address.(*net.UDPAddr); ok {
		return udp.AddrPort().Addr().Unmap()
	}
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
