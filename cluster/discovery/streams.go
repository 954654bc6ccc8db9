package discovery

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

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

// Reasons to refuse connections and packets at the gossip port.
const (
	refusedBusy   = "busy"   // a connection above the bounds
	refusedStream = "stream" // a connection without gossip, or without the key
	refusedPacket = "packet" // a packet without gossip, or without the key
	refusedFlood  = "flood"  // a packet above the bounds, not decrypted
)

func newRefusals(logger *slog.Logger, monotonic func() time.Duration) *hostlimit.Refusals {
	return hostlimit.NewRefusals(logger.With("component", "gossip"), monotonic, refusedBusy, refusedStream, refusedPacket, refusedFlood)
}

// refusedBy returns the reason for a refusal by the library, given its log line; "" for other lines.
func refusedBy(line string) string {
	switch {
	case strings.HasPrefix(line, "failed to receive"):
		return refusedStream
	case strings.HasPrefix(line, "Decrypt packet failed"), strings.HasPrefix(line, "UDP packet too short"):
		return refusedPacket
	}
	return ""
}

// Refusals calls each with the number of refused packets and connections, by reason.
func (g *Gossip) Refusals(each func(why string, count uint64)) { g.refused.Each(each) }

// boundedTransport limits the connections and packets of a transport. Safe for concurrent use.
type boundedTransport struct {
	memberlist.NodeAwareTransport
	streams chan net.Conn
	packets chan *memberlist.Packet
	limit   *hostlimit.Limit
	rate    *packetLimit
	refused *hostlimit.Refusals
	closed  chan struct{} // closed when the transport passes on nothing more
	once    sync.Once
	readers sync.WaitGroup
}

func newBoundedTransport(of memberlist.NodeAwareTransport, rate *packetLimit, refused *hostlimit.Refusals) *boundedTransport {
	s := &boundedTransport{
		NodeAwareTransport: of, streams: make(chan net.Conn), packets: make(chan *memberlist.Packet),
		limit: hostlimit.New(streamsMax, streamsPerHost), rate: rate, refused: refused, closed: make(chan struct{}),
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
		if !s.rate.allows(packet.From) {
			s.refused.Refuse(refusedFlood, slog.LevelWarn, "more packets arrive than nodes send; some are dropped", "remote",
				packet.From.String())
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
		s.refused.Refuse(refusedBusy, slog.LevelWarn, "too many gossip connections are open; one is closed", "remote",
			conn.RemoteAddr().String())
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

var errStreamTooLong = errors.New("more bytes than nodes exchange")

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
