package discovery

import (
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// What others may keep open at the gossip port. A node has a connection to each of the
// others for the moment of a full exchange; the library reads up to 20 MiB from each,
// from whoever connects.
const (
	streamsMax     = 128
	streamsPerHost = 32
	streamBytesMax = 256 << 10 // a full exchange of hundreds of nodes
)

// refusals counts what came to the gossip port and was no gossip of this cluster.
type refusals struct {
	busy    atomic.Uint64 // connections above the bounds
	streams atomic.Uint64 // connections without gossip, or without the key
	packets atomic.Uint64 // the same of packets
	flood   atomic.Uint64 // packets above the bounds, which nobody has decrypted
}

// note counts what a line of the library's log is about.
func (r *refusals) note(line string) {
	switch {
	case strings.HasPrefix(line, "failed to receive"):
		r.streams.Add(1)
	case strings.HasPrefix(line, "Decrypt packet failed"), strings.HasPrefix(line, "UDP packet too short"):
		r.packets.Add(1)
	}
}

// Refusals calls each with how many packets and connections were refused, by a word for why.
func (g *Gossip) Refusals(each func(why string, count uint64)) {
	each("busy", g.refusals.busy.Load())
	each("stream", g.refusals.streams.Load())
	each("packet", g.refusals.packets.Load())
	each("flood", g.refusals.flood.Load())
}

// boundedTransport hands out no more connections and packets than the bounds allow.
// Safe for concurrent use.
type boundedTransport struct {
	memberlist.NodeAwareTransport
	streams chan net.Conn
	packets chan *memberlist.Packet
	limit   *hostlimit.Limit
	rate    *packetLimit
	refused *refusals
	logf    func(format string, arguments ...any) // as the library logs
	closed  chan struct{}                         // once the transport hands out nothing more
	once    sync.Once
	readers sync.WaitGroup
}

func newBoundedTransport(of memberlist.NodeAwareTransport, rate *packetLimit, refused *refusals, logf func(string, ...any)) *boundedTransport {
	s := &boundedTransport{
		NodeAwareTransport: of, streams: make(chan net.Conn), packets: make(chan *memberlist.Packet),
		limit: hostlimit.New(streamsMax, streamsPerHost), rate: rate, refused: refused, logf: logf, closed: make(chan struct{}),
	}
	s.readers.Go(s.readStreams)
	s.readers.Go(s.readPackets)
	return s
}

// readPackets drops what comes too fast.
func (s *boundedTransport) readPackets() {
	for {
		var packet *memberlist.Packet
		select {
		case packet = <-s.NodeAwareTransport.PacketCh():
		case <-s.closed:
			return
		}
		allowed, tell := s.rate.allows(packet.From)
		if !allowed {
			s.refused.flood.Add(1)
			if tell {
				s.logf("[ERR] memberlist: More packets come than nodes send, some are dropped %s", memberlist.LogAddress(packet.From))
			}
			continue
		}
		select {
		case s.packets <- packet:
		case <-s.closed:
			return
		}
	}
}

func (s *boundedTransport) readStreams() {
	for {
		select {
		case conn := <-s.NodeAwareTransport.StreamCh():
			s.take(conn)
		case <-s.closed:
			return
		}
	}
}

func (s *boundedTransport) take(conn net.Conn) {
	if !s.limit.Begin(conn.RemoteAddr()) {
		s.refused.busy.Add(1)
		s.logf("[ERR] memberlist: Too many connections are open, one is closed %s", memberlist.LogConn(conn))
		conn.Close()
		return
	}
	bounded := &boundedStream{Conn: conn, left: streamBytesMax, end: sync.OnceFunc(func() { s.limit.End(conn.RemoteAddr()) })}
	select {
	case s.streams <- bounded:
	case <-s.closed:
		_ = bounded.Close() // nobody is left who would hear of an error
	}
}

// StreamCh is who connected.
func (s *boundedTransport) StreamCh() <-chan net.Conn { return s.streams }

// PacketCh is what arrived.
func (s *boundedTransport) PacketCh() <-chan *memberlist.Packet { return s.packets }

// Shutdown ends the transport. The library takes connections until it has returned.
func (s *boundedTransport) Shutdown() error {
	err := s.NodeAwareTransport.Shutdown()
	s.once.Do(func() { close(s.closed) })
	s.readers.Wait()
	return err
}

// boundedStream is a connection of which no more than left is read.
type boundedStream struct {
	net.Conn
	left int
	end  func()
}

var errStreamTooLong = errors.New("more than an exchange between nodes is long")

// Read reads. The library reads from one goroutine.
func (s *boundedStream) Read(content []byte) (int, error) {
	if s.left == 0 {
		return 0, errStreamTooLong
	}
	n, err := s.Conn.Read(content[:min(len(content), s.left)])
	s.left -= n
	return n, err
}

// Close closes the connection; more than once is allowed.
func (s *boundedStream) Close() error {
	s.end()
	return s.Conn.Close()
}
