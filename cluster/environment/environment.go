// Package environment holds the clock, randomness, network and disk space of a node as
// interfaces, with the implementation of the machine. Only this package reads the time or draws
// random bytes below package cmd, so tests and fault runs can replace both.
package environment

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"time"
)

// Environment is a node's access to the machine, besides its clock. Unset fields use the machine;
// simulations set their own.
type Environment struct {
	Random  io.Reader // for the node id and keys
	Network Network
	// Disk runs one write or sync of a store and may delay it or fail. what names the store and the
	// purpose.
	Disk func(what string, write func() error) error
}

// Network listens and dials. Addresses are host:port. Safe for concurrent use.
type Network interface {
	Listen(ctx context.Context, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, address string) (net.PacketConn, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// WithDefaults fills in the machine's randomness and disk. NewMachineNetwork makes the network.
func (e Environment) WithDefaults() Environment {
	if e.Random == nil {
		e.Random = rand.Reader
	}
	if e.Disk == nil {
		e.Disk = func(_ string, write func() error) error { return write() }
	}
	return e
}

type machineNetwork struct {
	net.ListenConfig
	dialer net.Dialer
}

var _ Network = (*machineNetwork)(nil)

// NewMachineNetwork dials from the address of bind, so that firewalls and fault tests can tell the
// directions apart.
func NewMachineNetwork(bind string, timeout time.Duration) Network {
	network := &machineNetwork{dialer: net.Dialer{Timeout: timeout, Control: limitUnacknowledged}}
	if host, _, err := net.SplitHostPort(bind); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			network.dialer.LocalAddr = &net.TCPAddr{IP: ip}
		}
	}
	return network
}

// Listen listens on TCP.
func (n *machineNetwork) Listen(ctx context.Context, address string) (net.Listener, error) {
	return n.ListenConfig.Listen(ctx, "tcp", address)
}

// ListenPacket listens on UDP.
func (n *machineNetwork) ListenPacket(ctx context.Context, address string) (net.PacketConn, error) {
	return n.ListenConfig.ListenPacket(ctx, "udp", address)
}

// Dial connects over TCP.
func (n *machineNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	return n.dialer.DialContext(ctx, "tcp", address)
}
