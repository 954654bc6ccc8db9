package forward

import (
	"context"
	"net"
	"sync"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// FramedStream is the asking node's end of a connection.
type FramedStream struct {
	conn *framedConn
	stop func() bool // no longer waits for the end of the context
}

var _ Stream = (*FramedStream)(nil)

// NewFramedStream speaks on a connection after its handshake, until ctx ends or Close.
func NewFramedStream(ctx context.Context, conn net.Conn) *FramedStream {
	framed := newFramedConn(conn)
	return &FramedStream{conn: framed, stop: context.AfterFunc(ctx, func() { _ = framed.close() })}
}

// Close ends the connection.
func (s *FramedStream) Close() error {
	s.stop()
	return s.conn.close()
}

// Send writes requests.
func (s *FramedStream) Send(frame *peerpb.RequestFrame) error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.conn.begin()
	var err error
	if s.conn.out, err = appendFrame(s.conn.out, frame); err != nil {
		return err
	}
	return s.conn.write(framedRequests)
}

// Recv reads answers.
func (s *FramedStream) Recv() (*peerpb.AnswerFrame, error) {
	content, err := s.conn.next(framedAnswers)
	if err != nil {
		return nil, err
	}
	frame := new(peerpb.AnswerFrame)
	return frame, decodeFrame(content, answersTag, frame)
}

// CloseSend says that nothing more is asked.
func (s *FramedStream) CloseSend() error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.conn.begin()
	return s.conn.write(framedEnd)
}

// framedInbound is the leader's end.
type framedInbound struct{ conn *framedConn }

var _ inboundStream = framedInbound{}

// Send writes answers.
func (s framedInbound) Send(frame *peerpb.AnswerFrame) error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.conn.begin()
	var err error
	if s.conn.out, err = appendFrame(s.conn.out, frame); err != nil {
		return err
	}
	return s.conn.write(framedAnswers)
}

// Recv reads requests.
func (s framedInbound) Recv() (*peerpb.RequestFrame, error) {
	content, err := s.conn.next(framedRequests)
	if err != nil {
		return nil, err
	}
	return decodeRequests(content)
}

// framedServer serves the connections of one listener.
type framedServer struct {
	requests *requests

	mu       sync.Mutex
	listener net.Listener  // nil before serve
	served   chan struct{} // closed when serve returns; nil before it
	open     map[*framedConn]struct{}
	ending   bool // no connection is taken any more
}

// serve takes connections until the listener closes, and returns when they have ended.
func (s *framedServer) serve(ctx context.Context, listener net.Listener) {
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
func (s *framedServer) answer(ctx context.Context, conn *framedConn, number uint64) {
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

// end takes no more connections and waits until those that are open have ended.
func (s *framedServer) end() {
	s.mu.Lock()
	s.ending = true
	listener, served := s.listener, s.served
	s.mu.Unlock()
	if listener == nil {
		return
	}
	_ = listener.Close() // it ends Accept
	<-served
}

// stop breaks off all connections.
func (s *framedServer) stop() {
	s.mu.Lock()
	s.ending = true
	open := make([]*framedConn, 0, len(s.open))
	for conn := range s.open { // order does not matter: all are closed
		open = append(open, conn)
	}
	s.mu.Unlock()
	for _, conn := range open {
		_ = conn.close()
	}
	s.end()
}
