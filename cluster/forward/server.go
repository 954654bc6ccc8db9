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
	// Recv returns io.EOF when no more requests follow.
	Recv() (*peerpb.RequestFrame, error)
}

// ServerOptions configures a Server.
type ServerOptions struct {
	NodeID    string               // of this node
	Group     uint32               // of consensus
	Term      func() *leader.Term  // nil if this node does not lead
	Audits    func(*peerpb.Audit)  // called with reports of other nodes
	Monotonic func() time.Duration // clock for deadlines
	// Bodies adds the bodies that an answer refers to; nil: the answer has them. An error of type
	// late may be temporary.
	Bodies func(codec.Response) (codec.Response, error)
	Log    *slog.Logger
}

// Server answers the requests of other nodes on the connections of one listener. Made by NewServer.
type Server struct {
	requests *requests

	mu       sync.Mutex
	listener net.Listener  // nil before Serve
	served   chan struct{} // closed when Serve returns; nil before it
	open     map[*framedConn]struct{}
	ending   bool // refuses further connections
}

// NewServer returns a Server that Serve starts.
func NewServer(options ServerOptions) *Server {
	return &Server{requests: newRequests(options), open: make(map[*framedConn]struct{})}
}

// Serve answers the connections of listener until Close, and returns when they have ended. Waiting
// receives end with ctx.
func (s *Server) Serve(ctx context.Context, listener net.Listener) {
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return
	}
	s.listener, s.served = listener, make(chan struct{})
	s.mu.Unlock()
	defer close(s.served)
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		number := s.requests.connections.Add(1)
		serving.Go(func() { s.answer(ctx, newFramedConn(conn), number) })
	}
}

// answer answers the requests of one connection.
func (s *Server) answer(ctx context.Context, conn *framedConn, number uint64) {
	defer func() { _ = conn.close() }() // the other end may have closed it
	s.mu.Lock()
	ending := s.ending
	if !ending {
		s.open[conn] = struct{}{}
	}
	s.mu.Unlock()
	if ending {
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, conn)
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.close() })
	defer stop()
	if err := s.requests.serve(ctx, framedInbound{conn}, number); err != nil && ctx.Err() == nil {
		s.requests.options.Log.Debug("a connection of another node ended", "error", err)
	}
}

// Served returns the number of requests accepted from other nodes.
func (s *Server) Served() uint64 { return s.requests.served.Load() }

// Stop closes all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	s.ending = true
	for conn := range s.open { // order does not matter: all are closed
		_ = conn.close()
	}
	s.mu.Unlock()
	s.end()
}

// end accepts no more connections and waits for the open ones to end.
func (s *Server) end() {
	s.mu.Lock()
	s.ending = true
	listener, served := s.listener, s.served
	s.mu.Unlock()
	if listener == nil {
		return
	}
	_ = listener.Close() // ends Accept
	<-served
}

// Close asks the other nodes to close their connections, which they do once all their requests are
// answered. When ctx ends, it closes the remaining connections.
func (s *Server) Close(ctx context.Context) {
	close(s.requests.closing)
	stopped := make(chan struct{})
	go func() { // awaited below
		defer close(stopped)
		s.end()
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.Stop()
		<-stopped
	}
}

// requests executes the requests of other nodes.
type requests struct {
	options     ServerOptions
	served      atomic.Uint64
	connections atomic.Uint64 // number of the newest connection
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

// succeed makes in the newest stream of a node. It cancels the earlier one with all requests that
// are not proposed, because the node may have repeated them. If the node has a newer connection,
// succeed cancels in, whose requests arrive late, for example after a partition.
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
// are not proposed by then never are, because the other node may have repeated them.
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
