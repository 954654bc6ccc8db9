package discovery

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits for packets to decrypt, per second and per burst. A node sends another one a few packets
// per second. The source of a packet can be forged: a flood in a member's name costs that member
// its packets; the library then probes it over a connection.
const (
	packetsOfMember = 1000 // from a host with a member
	packetsOfHost   = 100  // from any other host
	packetsOfOthers = 500  // from all other hosts together
	// hostsMax bounds the hosts with counts of their own; further hosts share one count.
	hostsMax = 1024
)

// packetLimit drops excess packets before decryption. Members have counts of their own, so that a
// flood from other hosts takes nothing from them. Safe for concurrent use.
type packetLimit struct {
	monotonic func() time.Duration

	mu      sync.Mutex
	members map[netip.Addr]*bucket
	hosts   map[netip.Addr]*bucket
	others  bucket
	swept   time.Duration // time of the last removal of idle hosts
}

// bucket is a token bucket.
type bucket struct {
	left float64
	at   time.Duration
}

func newPacketLimit(monotonic func() time.Duration) *packetLimit {
	return &packetLimit{
		monotonic: monotonic, members: map[netip.Addr]*bucket{}, hosts: map[netip.Addr]*bucket{},
		others: bucket{left: packetsOfOthers},
	}
}

// knows records the host of a node that has the gossip key.
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

// allows reports whether a packet may be decrypted.
func (l *packetLimit) allows(from net.Addr) bool {
	host, now := hostOf(from), l.monotonic()
	l.mu.Lock()
	defer l.mu.Unlock()
	if member := l.members[host]; member != nil {
		return member.take(now, packetsOfMember)
	}
	return l.host(host, now).take(now, packetsOfHost) && l.others.take(now, packetsOfOthers)
}

// host returns the bucket of a host without a member.
func (l *packetLimit) host(host netip.Addr, now time.Duration) *bucket {
	if b := l.hosts[host]; b != nil {
		return b
	}
	if len(l.hosts) >= hostsMax && now-l.swept >= time.Second {
		l.swept = now
		for other, b := range l.hosts { // in any order: idle hosts are removed
			if b.fill(now, packetsOfHost); b.left == packetsOfHost {
				delete(l.hosts, other)
			}
		}
	}
	if len(l.hosts) >= hostsMax {
		host = netip.Addr{} // shared by further hosts
		if b := l.hosts[host]; b != nil {
			return b
		}
	}
	b := &bucket{packetsOfHost, now}
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

// hostOf returns the zero address if there is none.
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
