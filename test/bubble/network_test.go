package bubble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// network connects machines by links, with a policy for each direction. Safe for concurrent use.
type network struct {
	referee *referee

	mu        sync.Mutex
	random    *rand.Rand
	policies  map[[2]int]policy // by the numbers of the sending and the receiving machine
	listeners map[string]*listener
	packets   map[string]*packetConn
	ends      map[*end]struct{}
	running   map[int]*process // current processes by machine
	off       map[int]bool     // machines without power
}

// policy contains the faults of one direction of a link. The zero value has none and no delay.
type policy struct {
	cut       bool
	delay     time.Duration // minimum
	jitter    time.Duration // maximum on top of it; packets may overtake one another
	loss      float64       // of packets; a stream retransmits
	duplicate float64       // of packets
}

// usual is the maximum delay of a link without faults.
const usual = time.Millisecond

// repetition is the additional delay of stream bytes whose first packet was lost.
const repetition = 200 * time.Millisecond

func newNetwork(random *rand.Rand, r *referee) *network {
	return &network{
		referee: r, random: random, policies: map[[2]int]policy{}, listeners: map[string]*listener{},
		packets: map[string]*packetConn{}, ends: map[*end]struct{}{}, running: map[int]*process{}, off: map[int]bool{},
	}
}

// process is one run of a machine's node.
type process struct {
	machine int
	network *network
	gone    chan struct{} // closed at its death
	killed  atomic.Bool
}

func (p *process) dead() bool { return p.killed.Load() }

// begin makes a process the current one of its machine.
func (n *network) begin(machine int) *process {
	p := &process{machine: machine, network: n, gone: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running[machine], n.off[machine] = p, false
	return p
}

// kill ends a process. The other ends of its connections get a reset, unless its power was cut.
func (n *network) kill(p *process, power bool) {
	if p.killed.Swap(true) {
		return
	}
	close(p.gone)
	n.mu.Lock()
	delete(n.running, p.machine)
	n.off[p.machine] = power
	var own, others []*end
	for e := range n.ends {
		switch p {
		case e.out.from:
			own = append(own, e)
		case e.out.to:
			others = append(others, e)
		}
	}
	for address, l := range n.listeners {
		if l.owner == p {
			delete(n.listeners, address)
			l.shut()
		}
	}
	for address, c := range n.packets {
		if c.owner == p {
			delete(n.packets, address)
			c.shut()
		}
	}
	n.mu.Unlock()
	for _, e := range own {
		e.in.signal()
		if !power {
			e.out.breakOff()
		}
	}
	if !power {
		for _, e := range others {
			e.out.breakOff()
		}
	}
}

// set changes the policy of one direction, and wakes waiting connections.
func (n *network) set(from, to int, p policy) {
	n.mu.Lock()
	n.policies[[2]int{from, to}] = p
	waiting := make([]*end, 0, len(n.ends))
	for e := range n.ends {
		waiting = append(waiting, e)
	}
	n.mu.Unlock()
	for _, e := range waiting {
		e.in.signal()
	}
}

func (n *network) policy(from, to int) policy {
	if from == to {
		return policy{}
	}
	return n.policies[[2]int{from, to}]
}

// open reports whether bytes can pass from one process to the other now.
func (n *network) open(from, to *process) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.policy(from.machine, to.machine).cut
}

// delay draws how long bytes are in flight.
func (n *network) delay(from, to *process, stream bool) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.policy(from.machine, to.machine)
	d := p.delay + time.Duration(n.random.Int64N(int64(usual+p.jitter)))
	if stream && p.loss > 0 && n.random.Float64() < p.loss {
		d += repetition
	}
	return d
}

// another reports whether the machine of a dead process runs another one.
func (n *network) another(p *process) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running[p.machine] != nil && n.running[p.machine] != p
}

func (n *network) forget(e *end) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ends, e)
}

// seat is the network as one process uses it.
type seat struct {
	*process
	host string
}

var _ cluster.Network = (*seat)(nil)

// Listen accepts connections to one address.
func (s *seat) Listen(_ context.Context, address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	l := &listener{owner: s.process, address: net.TCPAddrFromAddrPort(at), waiting: make(chan *end, backlog), closed: make(chan struct{})}
	n := s.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, syscall.EADDRINUSE)
	}
	n.listeners[address] = l
	return l, nil
}

// ListenPacket takes packets sent to one address.
func (s *seat) ListenPacket(_ context.Context, address string) (net.PacketConn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	c := &packetConn{owner: s.process, address: net.UDPAddrFromAddrPort(at), queue: make(chan packet, packetQueue),
		closed: make(chan struct{})}
	n := s.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.packets[address] = c
	return c, nil
}

// Dial connects to the listener of an address. A machine that is off or behind a cut link does not
// answer. One that runs without a listener refuses.
func (s *seat) Dial(ctx context.Context, address string) (net.Conn, error) {
	n := s.network
	timer := time.NewTimer(n.delay(s.process, s.process, true))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		l, refused := n.find(s.process, address)
		if refused {
			return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
		}
		if l != nil {
			return n.connect(s, l)
		}
		// If the first packet is lost, it is retransmitted after a while.
		timer.Reset(repetition)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", address, ctx.Err())
		case <-s.gone:
			return nil, net.ErrClosed
		}
	}
}

// find returns the listener of an address, or nil.
func (n *network) find(from *process, address string) (found *listener, refused bool) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	machine := machineOf(at.Addr())
	there, back := n.policy(from.machine, machine), n.policy(machine, from.machine)
	if there.cut || back.cut || n.off[machine] {
		return nil, false
	}
	l := n.listeners[address]
	return l, l == nil
}

func (n *network) connect(s *seat, l *listener) (net.Conn, error) {
	there, back := newPipe(n, s.process, l.owner), newPipe(n, l.owner, s.process)
	own := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(s.host), 40000))
	near := &end{in: back, out: there, local: own, remote: l.address, closed: make(chan struct{})}
	far := &end{in: there, out: back, local: l.address, remote: own, closed: make(chan struct{})}
	if l.address.Port == peerPort {
		near.tap, far.tap = n.referee.watch(s.machine, l.owner.machine)
	}
	n.mu.Lock()
	n.ends[near], n.ends[far] = struct{}{}, struct{}{}
	n.mu.Unlock()
	select {
	case l.waiting <- far:
		return near, nil
	case <-l.closed:
	default:
	}
	far.Close()
	near.Close()
	return nil, fmt.Errorf("dial %s: %w", l.address, syscall.ECONNREFUSED)
}

// backlog bounds the connections that wait to be accepted, like a real listener.
const backlog = 128

type listener struct {
	owner   *process
	address *net.TCPAddr
	waiting chan *end
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.waiting:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) shut() { l.once.Do(func() { close(l.closed) }) }

func (l *listener) Close() error {
	n := l.owner.network
	n.mu.Lock()
	if n.listeners[l.address.String()] == l {
		delete(n.listeners, l.address.String())
	}
	n.mu.Unlock()
	l.shut()
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

// packetQueue is a receive buffer. A packet that does not fit is lost, as in a real one.
const packetQueue = 256

type packet struct {
	content []byte
	from    net.Addr
}

type packetConn struct {
	owner   *process
	address *net.UDPAddr
	queue   chan packet
	once    sync.Once
	closed  chan struct{}
}

func (c *packetConn) ReadFrom(content []byte) (int, net.Addr, error) {
	select {
	case p := <-c.queue:
		return copy(content, p.content), p.from, nil
	case <-c.closed:
		return 0, nil, net.ErrClosed
	}
}

// WriteTo sends a packet, which may be lost, duplicated, or late.
func (c *packetConn) WriteTo(content []byte, to net.Addr) (int, error) {
	if c.owner.dead() {
		return 0, net.ErrClosed
	}
	n := c.owner.network
	n.mu.Lock()
	target := n.packets[to.String()]
	copies := 0
	if target != nil {
		p := n.policy(c.owner.machine, target.owner.machine)
		if !p.cut && n.random.Float64() >= p.loss {
			copies = 1
			if n.random.Float64() < p.duplicate {
				copies = 2
			}
		}
	}
	n.mu.Unlock()
	kept := packet{append([]byte(nil), content...), c.address}
	for range copies {
		time.AfterFunc(n.delay(c.owner, target.owner, false), func() {
			select {
			case target.queue <- kept:
			default:
			}
		})
	}
	return len(content), nil
}

func (c *packetConn) shut() { c.once.Do(func() { close(c.closed) }) }

func (c *packetConn) Close() error {
	n := c.owner.network
	n.mu.Lock()
	if n.packets[c.address.String()] == c {
		delete(n.packets, c.address.String())
	}
	n.mu.Unlock()
	c.shut()
	return nil
}

func (c *packetConn) LocalAddr() net.Addr              { return c.address }
func (c *packetConn) SetDeadline(time.Time) error      { return nil }
func (c *packetConn) SetReadDeadline(time.Time) error  { return nil }
func (c *packetConn) SetWriteDeadline(time.Time) error { return nil }
