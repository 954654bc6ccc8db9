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

// Limits for open connections at the gossip port. A node has a connection to each other node during
// a full exchange. Without a limit, the library reads up to 20 MiB from any connection.
const (
	streamsMax     = 128
	streamsPerHost = 32
	streamBytesMax = 256 << 10 // a full exchange of hundreds of nodes
)

// refusals counts connections and packets at the gossip port that were refused.
type refusals struct {
	busy    atomic.Uint64 // connections above the bounds
	streams atomic.Uint64 // connections without gossip, or without the key
	packets atomic.Uint64 // packets without gossip, or without the key
	flood   atomic.Uint64 // packets above the bounds, not decrypted
}

// note counts the event of a line in the library's log.
func (r *refusals) note(line string) {
	switch {
	case strings.HasPrefix(line, "failed to receive"):
		r.streams.Add(1)
	case strings.HasPrefix(line, "Decrypt packet failed"), strings.HasPrefix(line, "UDP packet too short"):
		r.packets.Add(1)
	}
}

// Refusals calls each with the number of refused packets and connections, by reason.
func (g *Gossip) Refusals(each func(why string, count uint64)) {
	each("busy", g.refusals.busy.Load())
	each("stream", g.refusals.streams.Load())
	each("packet", g.refusals.packets.Load())
	each("flood", g.refusals.flood.Load())
}

// boundedTransport limits the connections and packets of a transport. Safe for concurrent use.
type boundedTransport struct {
	memberlist.NodeAwareTransport
	streams chan net.Conn
	packets chan *memberlist.Packet
	limit   *hostlimit.Limit
	rate    *packetLimit
	refused *refusals
	logf    func(format string, arguments ...any) // logs like the library
	closed  chan struct{}                         // closed when the transport passes on nothing more
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

// readPackets passes on packets within the limit.
func (s *boundedTransport) readPackets() {
	for {
		var packet *memberlist.Packet
		select {
		case packet = <-s.NodeAwareTransport.PacketCh():
		case <-s.closed:
			return
		}
		allowed, log := s.rate.allows(packet.From)
		if !allowed {
			s.refused.flood.Add(1)
			if log {
				s.logf("[ERR] memberlist: More packets arrive than nodes send; some are dropped %s", memberlist.LogAddress(packet.From))
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
		_ = bounded.Close()
	}
}

// StreamCh returns the accepted connections.
func (s *boundedTransport) StreamCh() <-chan net.Conn { return s.streams }

// PacketCh returns the received packets.
func (s *boundedTransport) PacketCh() <-chan *memberlist.Packet { return s.packets }

// Shutdown ends the transport. The library takes connections until it returns.
func (s *boundedTransport) Shutdown() error {
	err := s.NodeAwareTransport.Shutdown()
	s.once.Do(func() { close(s.closed) })
	s.readers.Wait()
	return err
}

// boundedStream is a connection that reads at most left bytes.
type boundedStream struct {
	net.Conn
	left int
	end  func()
}

var errStreamTooLong = errors.New("longer than an exchange between nodes")

// Read implements net.Conn, for one goroutine.
func (s *boundedStream) Read(content []byte) (int, error) {
	if s.left == 0 {
		return 0, errStreamTooLong
	}
	n, err := s.Conn.Read(content[:min(len(content), s.left)])
	s.left -= n
	return n, err
}

// Close closes the connection. You may call it more than once.
func (s *boundedStream) Close() error {
	s.end()
	return s.Conn.Close()
}
