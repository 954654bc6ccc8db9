// Package environment holds the clock, randomness, network and disk space of a node as
// interfaces, with the implementation of the machine. Only this package reads the time or draws
// random bytes below package cmd, so tests and fault runs can replace both.
package environment

import (
	"context"
	"io"
	"net"
	"time"
)

// Environment is what a node finds outside of its process, beside its clock. What
// is not set is the machine's; simulations hand in their own.
type Environment struct {
	Random  io.Reader // for the node id and keys
	Network Network
	// Disk runs one write or sync of a store, whose name and purpose are for
	// people. It may take its time, and it may fail instead.
	Disk func(what string, write func() error) error
	// Poster takes what topics have to say to subscribers on the web; nil: it waits.
	Poster Poster
	// FirstKey is where the first access key of a new cluster comes from; nil: it has none.
	FirstKey FirstKey
}

// FirstKey gives a new cluster the access key that it begins with.
type FirstKey interface {
	// Make is the key, drawn or given by the operator.
	Make() (AccessKey, error)
	// Publish tells the operator the key that the cluster has. It is called again, perhaps
	// on another node, if the leader fails before it has noted that it was.
	Publish(key AccessKey)
}

// AccessKey is an access key of an account itself.
type AccessKey struct{ ID, Secret, Account string }

// Poster makes HTTP requests. Safe for concurrent use.
type Poster interface {
	// Post sends one POST request and returns the status of its answer. The error is not
	// nil if there was no answer in time.
	Post(ctx context.Context, request *Post) (status int, err error)
}

// Post is one POST request.
type Post struct {
	URL    string
	Header [][2]string // names and values
	Body   string
}

// Network is how a node listens and reaches the others. Addresses are host:port.
// Safe for concurrent use.
type Network interface {
	Listen(ctx context.Context, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, address string) (net.PacketConn, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// WithDefaults fills in the machine's randomness and disk. The network stays
// unset, see NewMachineNetwork.
func (e Environment) WithDefaults() Environment {
	if e.Random == nil {
		e.Random = systemEntropy()
	}
	if e.Disk == nil {
		e.Disk = func(_ string, write func() error) error { return write() }
	}
	return e
}

// machineNetwork is the network of the machine.
type machineNetwork struct {
	net.ListenConfig
	dialer net.Dialer
}

var _ Network = (*machineNetwork)(nil)

// NewMachineNetwork dials from the address that is listened on, so that firewalls
// and fault tests can tell the directions apart.
func NewMachineNetwork(bind string, timeout time.Duration) Network {
	network := &machineNetwork{dialer: net.Dialer{Timeout: timeout, Control: limitUnacknowledged}}
	if host, _, err := net.SplitHostPort(bind); err == nil {
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			network.dialer.LocalAddr = &net.TCPAddr{IP: ip}
		}
	}
	return network
}

// Listen accepts connections.
func (n *machineNetwork) Listen(ctx context.Context, address string) (net.Listener, error) {
	return n.ListenConfig.Listen(ctx, "tcp", address)
}

// ListenPacket takes packets.
func (n *machineNetwork) ListenPacket(ctx context.Context, address string) (net.PacketConn, error) {
	return n.ListenConfig.ListenPacket(ctx, "udp", address)
}

// Dial connects.
func (n *machineNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	return n.dialer.DialContext(ctx, "tcp", address)
}
