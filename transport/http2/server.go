package http2

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

// What one client may have going.
const (
	// streamsMax bounds the requests of a connection at a time.
	streamsMax = 250
	// windowOfStream and windowOfConn bound what a client may send of one body, and of
	// all of its bodies together, before a handler reads it.
	windowOfStream = 256 << 10
	windowOfConn   = 1 << 20
	// idleFramesMax bounds the frames of a second that bring nothing.
	idleFramesMax = 10_000
	// settingsMax bounds the settings of a frame. There are seven.
	settingsMax = 100
)

// A connection may carry streams that say nothing for long. One of which nothing
// was heard for pingAfter is asked whether the client is there, and closed if it does not
// answer within pingTimeout.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 10 * time.Second
)

// lingering is how long a client may take to read the last frame and to close the connection
// itself.
const lingering = 250 * time.Millisecond

// Config describes a Server.
type Config struct {
	Handler http.Handler
	Budget  *budget.Bytes // says when memory is scarce; nil: never
	Now     func() time.Time
	// Others takes a connection that speaks something else, with all its bytes.
	Others func(net.Conn)
	// StreamsMax bounds the requests under way on all connections; 0: DefaultStreamsMax.
	StreamsMax int
	// Refused is told why a connection is ended, or a request refused; may be nil.
	Refused func(why string, remote net.Addr, err error)
	Logger  *slog.Logger
}

// Server serves connections. Safe for concurrent use.
type Server struct {
	Config
	base   context.Context
	open   *http1.Open[*conn]
	closes atomic.Bool  // connections end when they are idle
	jobs   chan job     // unbuffered: for a worker that waits
	spare  atomic.Int32 // workers that wait, or are about to
	panics atomic.Uint64
	load   *load
}

// New makes a Server. ctx is the parent of all requests' contexts.
func New(ctx context.Context, cfg Config) *Server {
	if cfg.StreamsMax == 0 {
		cfg.StreamsMax = DefaultStreamsMax
	}
	return &Server{Config: cfg, base: ctx, open: http1.NewOpen[*conn](), jobs: make(chan job), load: newLoad(cfg.StreamsMax)}
}

// Serve serves a connection, in a goroutine of its own, until the connection ends or is
// given to Others.
func (s *Server) Serve(accepted net.Conn) {
	c := newConn(s, accepted)
	if !s.open.Add(c) {
		c.cancel()
		s.load.release(c.streams.share)
		_ = accepted.Close() // the client is gone
		return
	}
	go c.serve()
}

// refused tells of what a client may not do.
func (s *Server) refused(why string, conn net.Conn, err error) {
	if s.Refused != nil {
		s.Refused(why, conn.RemoteAddr(), err)
	}
}

// Panics returns the number of connections that a panic outside of the handler has ended.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// KeepAlives says whether connections are kept when they have no request, as they
// are from the start.
func (s *Server) KeepAlives(keep bool) {
	s.closes.Store(!keep)
	if keep {
		return
	}
	for _, c := range s.open.List() {
		go c.endIfIdle()
	}
}

// Shutdown tells clients to go elsewhere and waits for the requests under way. At
// the end of ctx it closes what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.closes.Store(true)
	s.open.Close()
	for _, c := range s.open.List() {
		go c.leave()
	}
	select {
	case <-s.open.Ended():
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.open.List() {
		c.abort()
	}
	return ctx.Err()
}

// job is what a goroutine of the server does: it calls the handler of a stream, or reads the
// frames of a connection and calls handlers meanwhile.
type job struct {
	handles *stream
	reads   *conn
}

// workersMax bounds the goroutines that wait for a job. Those that have called a handler have
// the stack that the next one needs, which costs more to make than all the rest.
const workersMax = 256

// start has a job done.
func (s *Server) start(j job) {
	select {
	case s.jobs <- j:
	default:
		go s.work(j)
	}
}

// work does jobs, one after the other.
func (s *Server) work(j job) {
	for {
		if st := j.handles; st != nil {
			st.conn.handle(st)
			st.conn.keep(st)
		} else {
			j.reads.readAll()
		}
		if s.spare.Add(1) > workersMax {
			s.spare.Add(-1)
			return
		}
		select {
		case j = <-s.jobs:
			s.spare.Add(-1)
		case <-s.open.Ended():
			return
		}
	}
}
