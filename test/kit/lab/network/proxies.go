package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Proxies are a network of loopback addresses, for machines that permit no
// namespaces. Each host has two addresses: one to bind, from which it also dials,
// and one for the other hosts, where a proxy listens on each port. Who is
// calling shows in the address that a connection comes from.
//
// Streams can be cut, delayed, slowed, broken and left half open, in each
// direction; of frames they know nothing, so that loss, duplicates and corruption
// happen to datagrams only. Safe for concurrent use.
type Proxies struct {
	options Options
	begin   time.Time
	fronts  []*front
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	policy  Policy
	changed chan struct{} // closed at the next change of the policy
	lines   map[Direction]*line
	streams map[net.Conn]struct{} // open ones, to be closed at the end
}

// front is the proxy of one host.
type front struct {
	host      string
	bind      netip.Addr // of the host itself
	address   netip.Addr // of the proxy
	listeners []net.Listener
	gossip    *net.UDPConn
	later     *later
}

func (p Ports) all() []uint16 { return []uint16{p.API, p.Admin, p.Peer, p.Gossip} }

// NewProxies listens for these hosts, which must bind what Addresses says.
func NewProxies(o Options, hosts ...string) (*Proxies, error) {
	p := &Proxies{
		options: o, begin: time.Now(), changed: make(chan struct{}),
		lines: map[Direction]*line{}, streams: map[net.Conn]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	var err error
	for n := range labsMax {
		// The first free number is that of these proxies.
		if err = p.listen(byte(n), hosts); err == nil {
			p.serve()
			return p, nil
		}
		for _, f := range p.fronts {
			f.close()
		}
		p.fronts = nil
	}
	p.cancel()
	return nil, fmt.Errorf("listen on addresses of the loopback interface: %w", err)
}

func (p *Proxies) listen(number byte, hosts []string) error {
	for i, host := range hosts {
		f := &front{host: host, bind: netip.AddrFrom4([4]byte{127, 77, number, byte(10 + i)}), address: netip.AddrFrom4([4]byte{127, 78, number, byte(10 + i)})}
		p.fronts = append(p.fronts, f)
		for _, port := range p.options.Ports.all() {
			l, err := net.Listen("tcp4", netip.AddrPortFrom(f.address, port).String())
			if err != nil {
				return err
			}
			f.listeners = append(f.listeners, l)
		}
		var err error
		if f.gossip, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(f.address, p.options.Ports.Gossip))); err != nil {
			return err
		}
	}
	return nil
}

func (f *front) close() {
	for _, l := range f.listeners {
		l.Close()
	}
	if f.gossip != nil {
		f.gossip.Close()
	}
}

func (p *Proxies) serve() {
	for _, f := range p.fronts {
		f.later = newLater(func(message []byte) { f.deliver(p, message) })
		for i, port := range p.options.Ports.all() {
			p.running.Go(func() { p.accept(f, f.listeners[i], port) })
		}
		p.running.Go(func() { p.relay(f) })
	}
}

// Addresses returns the address that a host binds, and the one that it announces to others.
func (p *Proxies) Addresses(host string) (bind, announced netip.Addr) {
	for _, f := range p.fronts {
		if f.host == host {
			return f.bind, f.address
		}
	}
	return bind, announced
}

// SetPolicy makes the proxies go by another policy.
func (p *Proxies) SetPolicy(policy Policy) error {
	var names []string
	for _, f := range p.fronts {
		names = append(names, f.host)
	}
	if err := checkNames(policy, names); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy = policy
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

// Policy returns the policy of the proxies.
func (p *Proxies) Policy() Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.policy
}

// Traffic returns the counts of the proxies so far. In a stream, each piece from one read counts.
func (p *Proxies) Traffic() Traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := Traffic{}
	for d, line := range p.lines {
		var counts [classes]Counts
		for class := range line.counts {
			counts[class] = line.counts[class].counts()
		}
		t[d] = counts
	}
	return t
}

// Close ends all connections.
func (p *Proxies) Close() error {
	p.cancel()
	for _, f := range p.fronts {
		f.close()
	}
	p.mu.Lock()
	for conn := range p.streams {
		conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	for _, f := range p.fronts {
		f.later.close()
	}
	return nil
}

// of is the host that a connection or datagram comes from.
func (p *Proxies) of(address netip.Addr) string {
	i := slices.IndexFunc(p.fronts, func(f *front) bool { return f.bind == address.Unmap() })
	if i < 0 {
		return Client
	}
	return p.fronts[i].host
}

// decide is line.decide for a piece of a stream or a datagram. The policy holds until
// the channel is closed.
func (p *Proxies) decide(d Direction, class Class, content packet, size int) (v verdict, link Link, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[d]
	if l == nil {
		number := func(host string) int {
			return slices.IndexFunc(p.fronts, func(f *front) bool { return f.host == host }) + 1
		}
		l = newLine(p.options.Seed, number(d.From), number(d.To))
		p.lines[d] = l
	}
	link = p.policy.Link(d.From, d.To, class)
	if content.protocol == protoTCP {
		// A sender makes good what is lost of a stream.
		link.Loss, link.Duplicate, link.Corrupt, link.Garble = 0, 0, 0, 0
	}
	return l.decide(link, class, content, size, time.Since(p.begin)), link, p.changed
}

var errProxiesClosed = errors.New("the proxies are closed")

// track registers a connection, so that Close can end it.
func (p *Proxies) track(conn net.Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		conn.Close()
		return errProxiesClosed
	}
	p.streams[conn] = struct{}{}
	return nil
}

func (p *Proxies) forget(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, conn)
}

// pause waits, and says whether the proxies go on.
func (p *Proxies) pause(d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-p.ctx.Done():
	}
	return p.ctx.Err() == nil
}
