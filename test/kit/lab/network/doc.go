// Package network is a network on one machine that fails as it is told: hosts in
// namespaces of their own, wired to a switch which is a part of the test process
// and decides about every single frame.
//
// It owns namespaces, links, addresses and host names (Lab), what the switch does
// to which traffic (Policy, its rules and presets), the count of what it did, and
// the process's move into a namespace without any other network (Inside). Where
// the kernel permits no namespaces, Proxies break TCP connections and datagrams
// between loopback addresses instead, as far as that goes. Apart from the port
// numbers and the first bytes of a connection between nodes, by which it tells one
// kind of traffic from another, it refuses to know what runs on its hosts.
//
// The hosts have no bridge and no netem: a policy is one value, swapped in one
// step, so that a partition has no moment in which it is half done, and it needs
// no kernel modules. With user namespaces it needs no privileges, either.
//
// Callers are test/kit/harness, which puts server processes on the hosts, and the
// suites that break the network below them.
package network
