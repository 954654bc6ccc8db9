package push

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Addresses decides which addresses may be connected to.
type Addresses struct {
	// Allowed lists exceptions: networks that would be refused.
	Allowed []netip.Prefix
	// Own lists the addresses of this machine, which are refused, too; nil: none.
	Own func() ([]net.Addr, error)
}

// reserved lists networks without subscribers, in addition to those of package netip. Metadata services
// of clouds are in unique local networks of IPv6 (AWS, Google), among the assignments of the IETF
// (Oracle), and at two single addresses (Alibaba, Azure).
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),   // this network
	netip.MustParsePrefix("240.0.0.0/4"), // with the broadcast address
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("fc00::/7"),  // unique local
	netip.MustParsePrefix("fec0::/10"), // site-local, out of use
	// Translations with a variable position of the IPv4 address, and Teredo, which obfuscates it.
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"),
}

// embedding lists networks of IPv6 addresses that contain an IPv4 address, with its first byte:
// IPv4-compatible ones, NAT64 and 6to4.
var embedding = [...]struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// Check refuses addresses of the machine itself, of its links, and reserved ones.
func (a Addresses) Check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, network := range a.Allowed {
		if network.Contains(address) {
			return nil
		}
	}
	if local(address) {
		return fmt.Errorf("the address %s is refused: it is local or reserved; allow its network with --sns-allow-endpoints if "+
			"subscribers may be there", address)
	}
	own, err := a.own(address)
	if err != nil {
		return err
	}
	if own {
		return fmt.Errorf("the address %s is refused: it is one of this node; allow its network with --sns-allow-endpoints if "+
			"subscribers may be there", address)
	}
	return nil
}

// own reports whether an address, or the one embedded in it, belongs to this machine.
func (a Addresses) own(address netip.Addr) (bool, error) {
	if a.Own == nil {
		return false, nil
	}
	list, err := a.Own()
	if err != nil {
		return false, fmt.Errorf("reading the addresses of this machine: %w", err)
	}
	inside, embedded := embeddedIn(address)
	for _, of := range list {
		network, ok := of.(*net.IPNet)
		if !ok {
			continue
		}
		if mine, _ := netip.AddrFromSlice(network.IP); mine.Unmap() == address || embedded && mine.Unmap() == inside {
			return true, nil
		}
	}
	return false, nil
}

// embeddedIn returns the IPv4 address in an IPv6 address.
func embeddedIn(address netip.Addr) (netip.Addr, bool) {
	for _, e := range embedding {
		if e.network.Contains(address) {
			bytes := address.As16()
			return netip.AddrFrom4([4]byte(bytes[e.at : e.at+4])), true
		}
	}
	return netip.Addr{}, false
}

func local(address netip.Addr) bool {
	if !address.IsValid() || address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() ||
		address.IsLinkLocalUnicast() {
		return true
	}
	for _, network := range reserved {
		if network.Contains(address) {
			return true
		}
	}
	inside, embedded := embeddedIn(address)
	return embedded && local(inside)
}

// dialer returns a dialer for permitted addresses. nil means the default resolver.
func (a Addresses) dialer(within time.Duration, r *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: within, Control: a.control, Resolver: r}
}

// control refuses an address before the connection is made.
func (a Addresses) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address to connect to: %w", err)
	}
	return a.Check(to.Addr())
}
