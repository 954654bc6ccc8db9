package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// table is the policy and the ports of the switch. It is replaced as a whole.
type table struct {
	policy    Policy
	ports     []*port // by the number in their hardware address
	links     [][][classes]Link
	addresses map[netip.Addr]*port
}

func newTable(policy Policy, ports []*port, addresses map[netip.Addr]*port) *table {
	t := &table{policy: policy, ports: ports, addresses: addresses, links: make([][][classes]Link, len(ports))}
	for i, from := range ports {
		t.links[i] = make([][classes]Link, len(ports))
		for j, to := range ports {
			for class := range classes {
				t.links[i][j][class] = policy.Link(from.host, to.host, class)
			}
		}
	}
	return t
}

// fabric is the shared state of the ports of a switch.
type fabric struct {
	table      atomic.Pointer[table]
	classifier *classifier
	seed       uint64
	begin      time.Time
}

// port is the switch's end of a host's line, with one goroutine that reads frames and one that
// delays frames to the host.
type port struct {
	fabric *fabric
	host   string
	number int
	mac    net.HardwareAddr // of the host
	socket *os.File
	later  *later
	done   chan struct{}

	mu    sync.Mutex
	lines map[int]*line // to other ports; only the reader adds lines
	err   error         // why the reading ended early
}

// hardwareAddress is locally administered; its last bytes are a number.
func hardwareAddress(kind byte, number int) net.HardwareAddr {
	return net.HardwareAddr{2, 'S', 'T', kind, byte(number >> 8), byte(number)}
}

const (
	hostKind   = 'h'
	switchKind = 's'
)

// openPort is called in the namespace of the switch.
func openPort(f *fabric, host string, number int, link string) (*port, error) {
	index, err := indexOf(link)
	if err != nil {
		return nil, fmt.Errorf("find the line of %s: %w", host, err)
	}
	all := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	// A burst between two hosts must not be dropped before the policy has seen it. Not every kernel
	// lets us force this size.
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	err = errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}),
	)
	if err != nil {
		unix.Close(socket)
		return nil, fmt.Errorf("prepare a packet socket: %w", err)
	}
	p := &port{
		fabric: f, host: host, number: number, mac: hardwareAddress(hostKind, number),
		socket: os.NewFile(uintptr(socket), "line of "+host), done: make(chan struct{}), lines: map[int]*line{},
	}
	p.later = newLater(p.send)
	return p, nil
}

// send passes a frame to the host. If the line does not accept it, it is lost, as in any network.
func (p *port) send(frame []byte) { _, _ = p.socket.Write(frame) }

// frameMax is more than a virtio header and the largest frame of a kernel.
const frameMax = 1 << 17

// read handles the frames of the host until the port is closed.
func (p *port) read() {
	defer close(p.done)
	buffer := make([]byte, frameMax)
	for {
		n, err := p.socket.Read(buffer)
		switch {
		case errors.Is(err, syscall.ENETDOWN) || errors.Is(err, syscall.EINTR):
			continue // reported once, when the line goes down
		case err != nil:
			if !errors.Is(err, os.ErrClosed) {
				p.mu.Lock()
				p.err = err
				p.mu.Unlock()
			}
			return
		case n > offloadHead+ethernetHead:
			p.forward(buffer[:n])
		}
	}
}

func (p *port) forward(message []byte) {
	t := p.fabric.table.Load()
	frame := message[offloadHead:]
	if address, ok := asks(frame); ok {
		// The switch answers ARP itself, so that a partition looks like silence and not like an
		// unplugged cable, and each direction can be cut alone.
		if owner := t.addresses[address]; owner != nil && owner != p {
			p.send(answer(frame, owner.mac))
		}
		return
	}
	packet, ok := parse(frame)
	if !ok || frame[3] != hostKind {
		return // another protocol, or not for a single receiver
	}
	number := int(frame[4])<<8 | int(frame[5])
	if number >= len(t.ports) || number == p.number || p.number >= len(t.ports) {
		return
	}
	to := t.ports[number]
	class := p.fabric.classifier.class(packet)
	v := p.line(number).decide(t.links[p.number][number][class], class, packet, len(frame), time.Since(p.fabric.begin))
	if v.reset {
		to.send(packet.reset(false))
		p.send(packet.reset(true))
	}
	if v.drop {
		return
	}
	if v.corrupt {
		packet.spoil(message[:offloadHead], v.place)
	}
	if v.garble {
		packet.garble(message[:offloadHead], v.place)
	}
	copies := 1
	if v.duplicate {
		copies = 2
	}
	for range copies {
		if v.wait > 0 {
			to.later.put(append([]byte(nil), message...), time.Now().Add(v.wait))
		} else {
			to.send(message)
		}
	}
}

// line returns the line to another port. Only the reader calls it.
func (p *port) line(to int) *line {
	if l := p.lines[to]; l != nil {
		return l
	}
	l := newLine(p.fabric.seed, p.number, to)
	p.mu.Lock()
	p.lines[to] = l
	p.mu.Unlock()
	return l
}

func (p *port) close() error {
	err := p.socket.Close()
	<-p.done
	p.later.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.err)
}
