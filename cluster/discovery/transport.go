package discovery

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// transport connects the gossip library to a Network other than the machine's. Safe for concurrent
// use.
type transport struct {
	ctx      context.Context // for dialing
	network  environment.Network
	listener net.Listener
	packets  net.PacketConn
	// The library receives from both until Shutdown.
	streamCh chan net.Conn
	packetCh chan *memberlist.Packet
	closed   chan struct{}
	once     sync.Once
	readers  sync.WaitGroup
}

var _ memberlist.Transport = (*transport)(nil)

// gossipPacketMax exceeds the largest packet of the library.
const gossipPacketMax = 64 << 10

func openTransport(ctx context.Context, network environment.Network, address string) (*transport, error) {
	listener, err := network.Listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("listen for gossip: %w", err)
	}
	packets, err := network.ListenPacket(ctx, address)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("listen for packets of gossip: %w", err)
	}
	t := &transport{
		ctx: ctx, network: network, listener: listener, packets: packets,
		streamCh: make(chan net.Conn), packetCh: make(chan *memberlist.Packet), closed: make(chan struct{}),
	}
	t.readers.Go(t.accept)
	t.readers.Go(t.read)
	return t, nil
}

func (t *transport) accept() {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		select {
		case t.streamCh <- conn:
		case <-t.closed:
			conn.Close()
			return
		}
	}
}

func (t *transport) read() {
	for {
		content := make([]byte, gossipPacketMax)
		n, from, err := t.packets.ReadFrom(content)
		if err != nil {
			return
		}
		select {
		case t.packetCh <- &memberlist.Packet{Buf: content[:n], From: from, Timestamp: environment.PacketTime()}:
		case <-t.closed:
			return
		}
	}
}

// FinalAdvertiseAddr returns this node's address for the others.
func (t *transport) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	host, service, err := net.SplitHostPort(t.listener.Addr().String())
	if err != nil {
		return nil, 0, err
	}
	if ip != "" {
		host, service = ip, strconv.Itoa(port)
	}
	bound, err := strconv.Atoi(service)
	if address := net.ParseIP(host); err == nil && address != nil {
		return address, bound, nil
	}
	return nil, 0, fmt.Errorf("%s:%s is not an address that other nodes can reach", host, service)
}

// WriteTo sends a packet and returns the time of sending.
func (t *transport) WriteTo(content []byte, address string) (time.Time, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err == nil {
		_, err = t.packets.WriteTo(content, to)
	}
	return environment.PacketTime(), err
}

// PacketCh returns the received packets.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packetCh }

// DialTimeout connects to a node.
func (t *transport) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	return t.network.Dial(ctx, address)
}

// StreamCh returns the accepted connections.
func (t *transport) StreamCh() <-chan net.Conn { return t.streamCh }

// Shutdown closes both sockets and waits for the readers.
func (t *transport) Shutdown() error {
	t.once.Do(func() {
		close(t.closed)
		t.listener.Close()
		t.packets.Close()
	})
	t.readers.Wait()
	return nil
}
