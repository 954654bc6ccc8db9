package push

import (
	"fmt"
	"net/netip"
	"syscall"
)

// Addresses decides where connections may lead.
type Addresses struct {
	// Allowed are networks of the addresses that would be refused.
	Allowed []netip.Prefix
}

// reserved are networks that no subscriber is in, beside those that package netip knows:
// this network, the reserved block with the broadcast address, and the address of the
// metadata service of AWS in IPv6, which is in no network of a link.
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
}

// embedding are networks of IPv6 addresses that lead to the IPv4 address inside them, and
// at which byte that begins: IPv4-compatible ones, NAT64 and 6to4.
var embedding = [...]struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// Check refuses an address of the machine itself, of one of its links, or of nobody.
func (a Addresses) Check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, network := range a.Allowed {
		if network.Contains(address) {
			return nil
		}
	}
	if local(address) {
		return fmt.Errorf("the address %s is refused: it is local or reserved; allow its network with --sns-allow-endpoints if subscribers may be there", address)
	}
	return nil
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
	for _, e := range embedding {
		if e.network.Contains(address) {
			bytes := address.As16()
			return local(netip.AddrFrom4([4]byte(bytes[e.at : e.at+4])))
		}
	}
	return false
}

// control is called with each address that is about to be connected to.
func (a Addresses) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address to connect to: %w", err)
	}
	return a.Check(to.Addr())
}
