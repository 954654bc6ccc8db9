package forward

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// inboundStream is the leader's end of a stream: a framedInbound, or one of Peer.Forward.
type inboundStream interface {
	Send(*peerpb.AnswerFrame) error
	// Recv is io.EOF when the other node asks nothing more.
	Recv() (*peerpb.RequestFrame, error)
}

// ServerOptions are what a Server works with.
type ServerOptions struct {
	NodeID    string               // of this node
	Group     uint32               // of consensus
	Term      func() *leader.Term  // nil if this node does not lead
	Audits    func(*peerpb.Audit)  // takes the reports of other nodes
	Monotonic func() time.Duration // the clock of deadlines
	// Bodies puts into an answer the bodies that it refers to; nil: it has them. An error
	// that has Done and Outcome, see late, is one that may be gone later.
	Bodies func(codec.Response) (codec.Response, error)
	Log    *slog.Logger
}

// Server answers the requests of other nodes. Made by NewServer.
type Server struct {
	requests *requests
	framed   framedServer
	grpc     *grpc.Server // for programs that do not know our frames
}

// NewServer returns a Server that Serve and ServeGRPC start.
func NewServer(options ServerOptions) *Server {
	requests := newRequests(options)
	s := &Server{
		requests: requests,
		framed:   framedServer{requests: requests, open: make(map[*framedConn]struct{})},
		grpc: grpc.NewServer(
			grpc.ForceServerCodecV2(newFrameCodec()),
			grpc.InitialWindowSize(streamWindow),
			grpc.InitialConnWindowSize(streamWindow),
			grpc.MaxRecvMsgSize(frameLimit),
			grpc.MaxSendMsgSize(frameLimit),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveInterval / 2, PermitWithoutStream: true}),
		),
	}
	peerpb.RegisterPeerServer(s.grpc, s.requests)
	return s
}

// Serve answers on the connections of listener, which speak in frames of our own, until
// Close. Receives that wait end with ctx.
func (s *Server) Serve(ctx context.Context, listener net.Listener) {
	s.framed.serve(ctx, listener)
}

// ServeGRPC answers on the connections of listener, which speak gRPC, until Close.
func (s *Server) ServeGRPC(listener net.Listener) error {
	return s.grpc.Serve(&numberedListener{Listener: listener, last: &s.requests.connections})
}

// Served counts the requests of other nodes that were taken on.
func (s *Server) Served() uint64 { return s.requests.served.Load() }

// Stop breaks off all streams.
func (s *Server) Stop() {
	s.framed.stop()
	s.grpc.Stop()
}

// Close lets the other nodes close their streams, which they do as soon as
// everything they sent is answered. What is left when ctx ends is broken off.
func (s *Server) Close(ctx context.Context) {
	close(s.requests.closing)
	stopped := make(chan struct{})
	go func() { // awaited below
		defer close(stopped)
		s.framed.end()
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.Stop()
		<-stopped
	}
}

// requests serves the requests of other nodes.
type requests struct {
	peerpb.UnimplementedPeerServer
	options     ServerOptions
	served      atomic.Uint64
	connections atomic.Uint64 // number of the newest
	closing     chan struct{} // closed when the other nodes are to close their streams

	mu     sync.Mutex
	newest map[string]newestStream // by node id
}

// newestStream is the stream of a node that counts.
type newestStream struct {
	stream     *inbound // nil once it has ended
	connection uint64   // its number
}

func newRequests(options ServerOptions) *requests {
	return &requests{options: options, closing: make(chan struct{}), newest: make(map[string]newestStream)}
}

// succeed makes in the newest stream of a node and ends the one before. What
// that one brings from now on is dropped, what it brought and was not proposed
// is cancelled: the node may have asked for it again. If the node has opened a
// connection after that of in, it is in that ends: what it brings arrives late, as
// after a partition.
func (p *requests) succeed(in *inbound, nodeID string, connection uint64) {
	p.mu.Lock()
	before, late := p.newest[nodeID], false
	if late = connection < before.connection; !late {
		p.newest[nodeID] = newestStream{in, connection}
	}
	p.mu.Unlock()
	switch {
	case late:
		in.cancelAll()
	case before.stream != nil && before.stream != in:
		before.stream.cancelAll()
	}
}

// forget lets go of a stream that has ended.
func (p *requests) forget(in *inbound, nodeID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if newest := p.newest[nodeID]; newest.stream == in {
		p.newest[nodeID] = newestStream{connection: newest.connection}
	}
}

// Forward serves one stream of gRPC.
func (p *requests) Forward(stream grpc.BidiStreamingServer[peerpb.RequestFrame, peerpb.AnswerFrame]) error {
	return p.serve(stream.Context(), stream, connectionOf(stream.Context()))
}

// serve serves one stream until the other node closes it or is gone. What was not
// proposed by then never is: the other node may already have asked somebody else.
func (p *requests) serve(ctx context.Context, stream inboundStream, connection uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := newInbound(p)
	defer in.waiting.Wait()
	var running sync.WaitGroup
	defer running.Wait()
	defer in.cancelAll()
	defer cancel()
	running.Go(func() {
		defer cancel()
		in.send(ctx, stream)
	})
	sender := ""
	defer func() { p.forget(in, sender) }()
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			in.flush(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		if sender == "" {
			sender = frame.SenderId
			p.succeed(in, sender, connection)
		}
		for _, r := range frame.Requests {
			in.accept(ctx, &running, frame, r)
		}
	}
}
