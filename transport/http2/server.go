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

// Bounds of one client.
const (
	// streamsMax bounds the concurrent requests of a connection.
	streamsMax = 250
	// windowOfStream and windowOfConn bound the bytes of one body, and of all bodies of a
	// connection, that a client may send before a handler reads.
	windowOfStream = 256 << 10
	windowOfConn   = 1 << 20
	// idleFramesMax bounds the idle frames in a second.
	idleFramesMax = 10_000
	// settingsMax bounds the settings of a frame. There are seven.
	settingsMax = 100
)

// A connection without input for pingAfter gets a ping, and is closed without an answer within
// pingTimeout.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 10 * time.Second
)

// lingering is the time for a client to read the last frame and to close the connection.
const lingering = 250 * time.Millisecond

// Config describes a Server.
type Config struct {
	Handler http.Handler
	Budget  *budget.Bytes // reports scarce memory; nil: never
	Now     func() time.Time
	// Others takes a connection that speaks another protocol, with all its bytes.
	Others func(net.Conn)
	// StreamsMax bounds the concurrent requests on all connections; 0: DefaultStreamsMax.
	StreamsMax int
	// Refused is called when a connection ends because of its client, or a request is refused;
	// may be nil.
	Refused func(why string, remote net.Addr, err error)
	Logger  *slog.Logger
}

// Server serves connections. Safe for concurrent use.
type Server struct {
	Config
	base   context.Context
	open   *http1.Open[*conn]
	closes atomic.Bool  // connections end when they are idle
	jobs   chan job     // unbuffered: for an idle worker
	spare  atomic.Int32 // idle workers
	panics atomic.Uint64
	load   *load
}

// New returns a Server. ctx is the parent of all requests' contexts.
func New(ctx context.Context, cfg Config) *Server {
	if cfg.StreamsMax == 0 {
		cfg.StreamsMax = DefaultStreamsMax
	}
	return &Server{Config: cfg, base: ctx, open: http1.NewOpen[*conn](), jobs: make(chan job), load: newLoad(cfg.StreamsMax)}
}

// Serve starts a goroutine that serves a connection.
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

func (s *Server) refused(why string, conn net.Conn, err error) {
	if s.Refused != nil {
		s.Refused(why, conn.RemoteAddr(), err)
	}
}

// Panics returns the number of connections that a panic outside of the handler has ended.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// KeepAlives sets whether connections without requests stay open. The default is true.
func (s *Server) KeepAlives(keep bool) {
	s.closes.Store(!keep)
	if keep {
		return
	}
	for _, c := range s.open.List() {
		go c.endIfIdle()
	}
}

// Shutdown sends GOAWAY and waits for the requests in progress. At the end of ctx it closes the
// connections.
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

// job is the task of a worker: call the handler of a stream, or read the frames of a connection.
type job struct {
	handles *stream
	reads   *conn
}

// workersMax bounds the idle workers. A worker that has called a handler has the stack for the next
// one, which is the largest cost of a new goroutine.
const workersMax = 256

// start passes a job to an idle worker, or starts one.
func (s *Server) start(j job) {
	select {
	case s.jobs <- j:
	default:
		go s.work(j)
	}
}

// work executes jobs, one after the other.
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
