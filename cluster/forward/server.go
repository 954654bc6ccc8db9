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

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// inboundStream is the leader's end of a stream: a framedInbound, or a stub in tests.
type inboundStream interface {
	Send(*peerpb.AnswerFrame) error
	// Recv is io.EOF when the other node asks nothing more.
	Recv() (*peerpb.RequestFrame, error)
}

// ServerOptions holds what a Server depends on.
type ServerOptions struct {
	NodeID    string               // of this node
	Group     uint32               // of consensus
	Term      func() *leader.Term  // nil if this node does not lead
	Audits    func(*peerpb.Audit)  // called with the reports of other nodes
	Monotonic func() time.Duration // the clock of deadlines
	// Bodies reads the bodies that an answer refers to; nil: the answer has them. An error with
	// the methods of late may be gone later.
	Bodies func(codec.Response) (codec.Response, error)
	Log    *slog.Logger
}

// Server answers the requests of other nodes. Made by NewServer.
type Server struct {
	requests *requests
	framed   framedServer
}

// NewServer returns a Server that Serve starts.
func NewServer(options ServerOptions) *Server {
	requests := newRequests(options)
	return &Server{requests: requests, framed: framedServer{requests: requests, open: make(map[*framedConn]struct{})}}
}

// Serve answers on the connections of listener until Close. Receives that wait end with ctx.
func (s *Server) Serve(ctx context.Context, listener net.Listener) {
	s.framed.serve(ctx, listener)
}

// Served returns the number of requests accepted from other nodes.
func (s *Server) Served() uint64 { return s.requests.served.Load() }

// Stop closes all connections.
func (s *Server) Stop() { s.framed.stop() }

// Close asks the other nodes to close their connections, which they do when all their requests
// are answered. When ctx ends, it closes the remaining connections.
func (s *Server) Close(ctx context.Context) {
	close(s.requests.closing)
	stopped := make(chan struct{})
	go func() { // awaited below
		defer close(stopped)
		s.framed.end()
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
	options     ServerOptions
	served      atomic.Uint64
	connections atomic.Uint64 // number of the newest
	closing     chan struct{} // closed by Close

	mu     sync.Mutex
	newest map[string]newestStream // by node id
}

// newestStream is the newest stream of a node.
type newestStream struct {
	stream     *inbound // nil once it has ended
	connection uint64   // its number
}

func newRequests(options ServerOptions) *requests {
	return &requests{options: options, closing: make(chan struct{}), newest: make(map[string]newestStream)}
}

// succeed makes in the newest stream of a node and cancels the one before, with all its requests
// that are not proposed: the node may have repeated them. If the node has opened a connection
// after that of in, it cancels in: its requests arrive late, as after a partition.
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

// forget removes a stream that has ended.
func (p *requests) forget(in *inbound, nodeID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if newest := p.newest[nodeID]; newest.stream == in {
		p.newest[nodeID] = newestStream{connection: newest.connection}
	}
}

// serve serves one stream until the other node closes it or the connection breaks. Requests that
// are not proposed by then never are: the other node may already have repeated them.
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
