package transport

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// http1Server serves the requests that make up nearly all of the load, plain
// POST requests over HTTP/1.1 without TLS, at a fraction of the cost of
// net/http. A connection that brings anything else is handed over to net/http
// with every byte of that request, and stays there: nothing is decided twice.
// Safe for concurrent use.
type http1Server struct {
	handler  http.Handler
	now      func() time.Time
	log      *slog.Logger
	base     context.Context
	handover func(net.Conn)
	answers  sync.Pool // of *[]byte: answers on their way out
	date     atomic.Pointer[dateLine]
	closes   atomic.Bool // connections end after their next answer

	mu      sync.Mutex
	conns   map[*http1Conn]struct{}
	closing bool
	ended   chan struct{} // closed when closing and the last connection is gone
}

// dateLine is the Date header of one second.
type dateLine struct {
	second int64
	line   []byte
}

func newHTTP1Server(ctx context.Context, cfg Config, handover func(net.Conn)) *http1Server {
	s := &http1Server{
		handler: cfg.Handler, now: cfg.Now, log: cfg.Logger, base: ctx, handover: handover,
		conns: make(map[*http1Conn]struct{}), ended: make(chan struct{}),
	}
	s.answers.New = func() any { return new([]byte) }
	return s
}

// accept serves what the listener brings until it is closed.
func (s *http1Server) accept(listener net.Listener) error {
	pause := acceptPauseMin
	for {
		conn, err := listener.Accept()
		if err == nil {
			pause = acceptPauseMin
			s.start(conn)
			continue
		}
		// Out of file descriptors, or the peer was gone already: neither is a
		// reason to stop listening.
		if temporary, ok := err.(interface{ Temporary() bool }); !ok || !temporary.Temporary() {
			return err
		}
		s.log.Warn("accepting a connection failed", "error", err)
		select {
		case <-time.After(pause):
		case <-s.ended:
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

func (s *http1Server) start(conn net.Conn) {
	c := newHTTP1Conn(s, conn)
	s.mu.Lock()
	refused := s.closing
	if !refused {
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if refused {
		c.cancel()
		c.closeSocket()
		return
	}
	go c.serve()
}

// forget lets go of a connection that has ended or is served elsewhere.
func (s *http1Server) forget(c *http1Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.closing && len(s.conns) == 0 {
		close(s.ended)
	}
}

// keepAlives says whether connections are kept after an answer.
func (s *http1Server) keepAlives(keep bool) {
	s.closes.Store(!keep)
	if !keep {
		s.closeIdle()
	}
}

// closeIdle ends the connections that are between two requests.
func (s *http1Server) closeIdle() {
	for _, c := range s.open() {
		if c.state.CompareAndSwap(connIdle, connClosed) {
			c.closeSocket()
		}
	}
}

func (s *http1Server) open() []*http1Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*http1Conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	return list
}

// shutdown ends idle connections and waits for the requests under way. What is
// left at the end of ctx is cut.
func (s *http1Server) shutdown(ctx context.Context) error {
	s.closes.Store(true)
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		if len(s.conns) == 0 {
			close(s.ended)
		}
	}
	s.mu.Unlock()
	s.closeIdle()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.open() {
		c.cancel()
		c.closeSocket()
	}
	return ctx.Err()
}

// dateHeader is the line that says when an answer is made, written anew once a
// second.
func (s *http1Server) dateHeader(now time.Time) []byte {
	second := now.Unix()
	if cached := s.date.Load(); cached != nil && cached.second == second {
		return cached.line
	}
	line := now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)
	fresh := &dateLine{second: second, line: append(line, '\r', '\n')}
	s.date.Store(fresh)
	return fresh.line
}

// handoverListener gives net/http the connections that are for it. It
// implements net.Listener; Close may be called more than once.
type handoverListener struct {
	conns chan net.Conn // unbuffered: a connection is somebody's at all times
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newHandoverListener(addr net.Addr) *handoverListener {
	return &handoverListener{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

// give hands over a connection, or closes it if nobody takes it any more.
func (l *handoverListener) give(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.done:
		_ = conn.Close()
	}
}

// Accept waits for the next connection.
func (l *handoverListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *handoverListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is the address of the listener the connections come from.
func (l *handoverListener) Addr() net.Addr { return l.addr }

// replayConn is a connection of which something was read already.
type replayConn struct {
	net.Conn
	read []byte
}

// Read gives what was read before, then what follows.
func (c *replayConn) Read(p []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}
