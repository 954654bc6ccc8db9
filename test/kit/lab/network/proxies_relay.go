package network

import (
	"net"
	"net/netip"
	"time"
)

// pieceMax bounds the bytes of a stream that are forwarded at once. heldBack is the pause of a
// stream that cannot continue.
const (
	pieceMax = 16 << 10
	heldBack = 10 * time.Millisecond
)

// accept takes the connections to one port of a host.
func (p *Proxies) accept(f *front, listener net.Listener, port uint16) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if p.track(conn) == nil {
			p.running.Go(func() { p.connect(f, conn.(*net.TCPConn), port) })
		}
	}
}

// stream is one connection through a proxy.
type stream struct {
	near, far *net.TCPConn // of the one who dialed, and of the host
	dialed    Direction
	class     Class
}

// connect passes a connection on to the host, from an address of the caller.
func (p *Proxies) connect(f *front, near *net.TCPConn, port uint16) {
	defer p.forget(near)
	caller := near.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
	s := &stream{near: near, dialed: Direction{p.of(caller), f.host}, class: p.options.Ports.class(port)}
	first := make([]byte, pieceMax)
	n := 0
	if s.class == Peer {
		// What it is for shows in what the caller says first.
		var err error
		if n, err = near.Read(first); err != nil {
			return
		}
		s.class, _ = handshakeClass(first[:n])
	}
	if !p.passes(s, s.dialed, n) || !p.passes(s, Direction{s.dialed.To, s.dialed.From}, 0) {
		return
	}
	dialer := net.Dialer{Timeout: time.Minute}
	if _, announced := p.Addresses(s.dialed.From); announced.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: announced.AsSlice()}
	}
	far, err := dialer.DialContext(p.ctx, "tcp4", netip.AddrPortFrom(f.bind, port).String())
	if err != nil || p.track(far) != nil {
		return
	}
	defer p.forget(far)
	s.far = far.(*net.TCPConn)
	if _, err := far.Write(first[:n]); err != nil {
		return
	}
	back := make(chan struct{})
	p.running.Go(func() {
		defer close(back)
		p.pump(s, s.far, near, Direction{s.dialed.To, s.dialed.From})
	})
	p.pump(s, near, s.far, s.dialed)
	<-back
}

// pump passes on one direction until it ends or the connection is broken.
func (p *Proxies) pump(s *stream, from, to *net.TCPConn, d Direction) {
	buffer := make([]byte, pieceMax)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.passes(s, d, n) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				s.breakOff(false)
				return
			}
			continue
		}
		if err != nil {
			p.passEnd(s, to, d)
			return
		}
	}
}

// passes waits as long as a piece of a stream has to wait, and says whether it then
// goes on. While its direction is cut it waits, since a sender would try again.
func (p *Proxies) passes(s *stream, d Direction, size int) bool {
	// With content, if it has any, and without flags.
	piece := packet{segment: 1, content: 16 - min(size, 1), protocol: protoTCP, frame: make([]byte, 16)}
	for {
		v, link, changed := p.decide(d, s.class, piece, size)
		switch {
		case v.reset:
			s.breakOff(true)
			return false
		case link.Cut:
			select {
			case <-changed:
			case <-p.ctx.Done():
				return false
			}
		case v.drop: // by a line that flaps, or that is too slow
			if !p.pause(heldBack, changed) {
				return false
			}
		default:
			return v.wait == 0 || p.pause(v.wait, nil)
		}
	}
}

// passEnd tells the other end that a direction has ended, once that gets through.
func (p *Proxies) passEnd(s *stream, to *net.TCPConn, d Direction) {
	for {
		_, link, changed := p.decide(d, s.class, packet{}, 0)
		if !link.Cut && !link.HalfOpen {
			// The other end may be gone already.
			_ = to.CloseWrite()
			return
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return
		}
	}
}

// breakOff ends the connection, with a reset if wanted.
func (s *stream) breakOff(reset bool) {
	for _, conn := range []*net.TCPConn{s.near, s.far} {
		if conn == nil {
			continue
		}
		if reset {
			_ = conn.SetLinger(0) // only makes the end ruder
		}
		conn.Close()
	}
}

// relay passes on datagrams to a host, each from the proxy of who sent it.
func (p *Proxies) relay(f *front) {
	buffer := make([]byte, 1<<16)
	for {
		n, sender, err := f.gossip.ReadFromUDPAddrPort(buffer[1:])
		if err != nil {
			return
		}
		from := p.of(sender.Addr())
		if from == Client {
			continue // nobody else gossips
		}
		v, _, _ := p.decide(Direction{from, f.host}, Gossip, packet{}, n)
		if v.drop || v.corrupt {
			continue
		}
		message := append([]byte(nil), buffer[:1+n]...)
		message[0] = p.number(from)
		if v.garble && n > 0 {
			message[1+int(v.place%uint64(n))] ^= 1
		}
		due := time.Now().Add(v.wait)
		f.later.put(message, due)
		if v.duplicate {
			f.later.put(message, due)
		}
	}
}

func (p *Proxies) number(host string) byte {
	for i, f := range p.fronts {
		if f.host == host {
			return byte(i)
		}
	}
	return 0
}

// deliver sends a datagram, whose first byte says from whom it is, to the host.
func (f *front) deliver(p *Proxies, message []byte) {
	// A datagram that cannot be sent is lost, as any may be.
	_, _ = p.fronts[message[0]].gossip.WriteToUDPAddrPort(message[1:], netip.AddrPortFrom(f.bind, p.options.Ports.Gossip))
}
