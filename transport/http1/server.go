package http1

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
)

// Config describes a Server.
type Config struct {
	Handler http.Handler
	TLS     *tls.Config   // nil: no TLS
	Budget  *budget.Bytes // nil: no limit
	Now     func() time.Time
	// Handover takes a connection that is for net/http. One that speaks
	// HTTP/2 over TLS is a *tls.Conn of which nothing was read.
	Handover func(net.Conn)
	// Refused is told why a connection is ended whose client did not do its part; may be nil.
	Refused func(why string, remote net.Addr, err error)
	Logger  *slog.Logger
}

// Server serves connections. Safe for concurrent use.
type Server struct {
	Config
	base    context.Context
	open    *Open[*conn]
	answers sync.Pool // of *[]byte: answers on their way out
	date    atomic.Pointer[dateLine]
	closes  atomic.Bool // connections end after their next answer
	panics  atomic.Uint64
	turns   handshakes

	departures departures
}

// dateLine is the Date header of one second.
type dateLine struct {
	second int64
	line   []byte
}

// New makes a Server. ctx is the parent of all requests' contexts.
func New(ctx context.Context, cfg Config) *Server {
	s := &Server{Config: cfg, base: ctx, open: NewOpen[*conn](), turns: newHandshakes()}
	s.answers.New = func() any { return new([]byte) }
	return s
}

// Serve serves a connection, in a goroutine of its own, until the connection
// ends or is handed over.
func (s *Server) Serve(accepted net.Conn) {
	c := newConn(s, accepted)
	if !s.open.Add(c) {
		c.cancel()
		c.close()
		return
	}
	go c.serve()
}

// Panics returns the number of connections that a panic outside of the handler has ended.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// KeepAlives says whether connections are kept after an answer, as they are from
// the start.
func (s *Server) KeepAlives(keep bool) {
	s.closes.Store(!keep)
	if !keep {
		s.closeIdle()
	}
}

// closeIdle closes the connections that are between two requests. Each is closed
// in a goroutine of its own, since TLS says goodbye, for which a client that
// does not read makes it wait.
func (s *Server) closeIdle() {
	for _, c := range s.open.List() {
		if c.state.CompareAndSwap(connIdle, connClosed) {
			go c.close()
		}
	}
}

// Ended is closed when the last connection is gone after Shutdown began.
func (s *Server) Ended() <-chan struct{} { return s.open.Ended() }

// Shutdown closes idle connections and waits for the requests under way. At the
// end of ctx it closes what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.departures.close()
	s.closes.Store(true)
	s.open.Close()
	s.closeIdle()
	select {
	case <-s.open.Ended():
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.open.List() {
		c.cancel()
		c.abort()
	}
	return ctx.Err()
}

// dateHeader is the line that says when an answer is made, written anew once a
// second.
func (s *Server) dateHeader(now time.Time) []byte {
	second := now.Unix()
	if cached := s.date.Load(); cached != nil && cached.second == second {
		return cached.line
	}
	line := now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)
	next := &dateLine{second: second, line: append(line, '\r', '\n')}
	s.date.Store(next)
	return next.line
}
