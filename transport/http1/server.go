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
	// Handover takes a connection for another protocol server. A connection that has chosen
	// HTTP/2 over TLS is a *tls.Conn from which no byte was read.
	Handover func(net.Conn)
	// Refused is called when a connection ends because of its client; may be nil.
	Refused func(why string, remote net.Addr, err error)
	Logger  *slog.Logger
}

// Server serves connections. Safe for concurrent use.
type Server struct {
	Config
	base    context.Context
	open    *Open[*conn]
	answers sync.Pool // of *[]byte, for encoded answers
	date    atomic.Pointer[dateLine]
	closes  atomic.Bool // connections close after their next answer
	panics  atomic.Uint64
	turns   handshakes

	departures departures
}

// dateLine is the Date header of one second.
type dateLine struct {
	second int64
	line   []byte
}

// New returns a Server. ctx is the parent of all requests' contexts.
func New(ctx context.Context, cfg Config) *Server {
	s := &Server{Config: cfg, base: ctx, open: NewOpen[*conn](), turns: newHandshakes()}
	s.answers.New = func() any { return new([]byte) }
	return s
}

// Serve starts a goroutine that serves a connection.
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

// KeepAlives sets whether connections stay open after an answer. The default is true.
func (s *Server) KeepAlives(keep bool) {
	s.closes.Store(!keep)
	if !keep {
		s.closeIdle()
	}
}

// closeIdle closes idle connections, each in a goroutine, because the alert of TLS waits for a
// client that does not read.
func (s *Server) closeIdle() {
	for _, c := range s.open.List() {
		if c.state.CompareAndSwap(connIdle, connClosed) {
			go c.close()
		}
	}
}

// Ended returns a channel that is closed when Shutdown has begun and no connection is left.
func (s *Server) Ended() <-chan struct{} { return s.open.Ended() }

// Shutdown closes idle connections and waits for the requests in progress. At the end of ctx it
// closes the others, too.
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

// dateHeader returns the Date header, encoded once a second.
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
