package network

import (
	"fmt"
	"net/netip"
	"slices"
)

// Options describe a lab.
type Options struct {
	Seed  uint64 // of all random decisions
	Ports Ports  // by which the classes of traffic are recognized
	// Names gives the hosts an /etc/hosts of their own (see Lab.Resolve). They then do not see file
	// systems that are mounted later.
	Names bool
}

// NodePorts are the default ports of a server.
func NodePorts() Ports { return Ports{API: 9324, Admin: 9325, Peer: 9326, Gossip: 9327} }

// Available returns the reason why this machine supports no lab, or nil.
func Available() error {
	l, err := New(Options{}, "a")
	if err != nil {
		return err
	}
	return l.Close()
}

// checkNames returns an error if a policy names a host that does not exist.
func checkNames(p Policy, hosts []string) error {
	for _, r := range p.Rules {
		for _, name := range slices.Concat(r.From, r.To) {
			if name != Client && !slices.Contains(hosts, name) {
				return fmt.Errorf("policy %q names %q: there is no such host", p.Name, name)
			}
		}
	}
	return nil
}

// subnet returns the addresses of the n-th lab on this machine: that of the test process with the
// subnet, and that of the first host.
func subnet(n int) (client netip.Prefix, first netip.Addr) {
	address := netip.AddrFrom4([4]byte{10, 77, byte(n), 1})
	return netip.PrefixFrom(address, subnetBits), netip.AddrFrom4([4]byte{10, 77, byte(n), 10})
}

const (
	subnetBits = 24
	labsMax    = 200 // labs on one machine at the same time
)
