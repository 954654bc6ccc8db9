package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/http2"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// DefaultConnectionsMax bounds the connections of one listener.
const DefaultConnectionsMax = 20_000

// netHTTPWriteTimeout includes the time of the handler, so it is longer than a long poll.
const netHTTPWriteTimeout = 120 * time.Second

// Config describes one listener.
type Config struct {
	Addr string // host:port, port 0 for any
	// TLS holds the certificates, or finds them for each connection; nil: no TLS. Listen sets the
	// protocols.
	TLS            *tls.Config
	ConnectionsMax int // 0: DefaultConnectionsMax; further connections wait to be accepted
	// PerAddress bounds the connections of one address, further ones are closed; 0: nine tenths of
	// ConnectionsMax.
	PerAddress int
	StreamsMax int // requests over HTTP/2 at once; 0: http2.DefaultStreamsMax
	Handler    http.Handler
	// GRPC serves the requests of content type application/grpc over HTTP/2. Their bodies may be
	// endless, so GRPC reads and counts them itself. Nil: Handler serves them.
	GRPC http.Handler
	// AMQP serves the connections that begin with a protocol header of AMQP; nil: there are none.
	AMQP amqp.Handler
	// ContainerID names the node to clients of AMQP.
	ContainerID string
	// Budget bounds the bodies being read and the answers being written on all connections; bodies
	// are read before Handler is called. Nil: nothing is counted, and Handler reads the body.
	Budget *budget.Bytes
	Now    func() time.Time
	// NetHTTP makes net/http serve all requests, over HTTP/1.1 only. Otherwise packages http1 and
	// http2 serve most of them.
	NetHTTP bool
	// Opened registers each accepted connection; may be nil.
	Opened func(net.Conn) *connections.Connection
	// OnShutdown is called when Shutdown begins, to end waiting requests such as long polls. It
	// returns at once.
	OnShutdown func()
	Logger     *slog.Logger
}

// Server is a listener with its connections. Safe for concurrent use.
type Server struct {
	http     http.Server
	plain    *http1.Server     // nil with NetHTTP
	http2    *http2.Server     // serves the HTTP/2 connections of plain
	amqp     *amqp.Server      // nil without Config.AMQP
	others   *handoverListener // passes the other connections to http
	listener *limits.Listener
	budget   *budget.Bytes
	waits    func()     // Config.OnShutdown, may be nil
	done     chan error // capacity 1: the result of serve
	log      *slog.Logger
}

// Listen binds the address and starts to serve. ctx is the parent of all requests' contexts.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.ConnectionsMax == 0 {
		cfg.ConnectionsMax = DefaultConnectionsMax
	}
	secure := cfg.TLS.Clone()
	if secure != nil {
		secure.NextProtos = []string{"http/1.1"}
		if !cfg.NetHTTP {
			secure.NextProtos = []string{"h2", "http/1.1"}
		}
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for clients on %s: %w", cfg.Addr, err)
	}
	s := &Server{
		listener: limits.NewListener(listener, limits.Config{
			ConnectionsMax: cfg.ConnectionsMax, PerAddress: cfg.PerAddress, Logger: cfg.Logger, Now: cfg.Now,
			Opened: cfg.Opened,
		}), budget: cfg.Budget,
		waits: cfg.OnShutdown, done: make(chan error, 1), log: cfg.Logger,
	}
	if cfg.AMQP != nil && !cfg.NetHTTP {
		s.amqp = amqp.New(ctx, amqp.Config{
			Handler: cfg.AMQP, ContainerID: cfg.ContainerID, Budget: cfg.Budget, Now: cfg.Now, Refused: s.listener.Refuse,
			Logger: cfg.Logger,
		})
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true) // HTTP/2 is package http2's
	handler := withGRPC(cfg.GRPC, counted(cfg.Handler, cfg.Budget, cfg.Now))
	s.http = http.Server{
		Handler: withWebSocket(ctx, s.amqp, taken(handler)), TLSConfig: secure, Protocols: &protocols,
		ReadHeaderTimeout: limits.HeaderTimeout, ReadTimeout: limits.BodyTimeout,
		WriteTimeout: netHTTPWriteTimeout, IdleTimeout: limits.IdleTimeout, MaxHeaderBytes: limits.HeaderBytesMax,
		ErrorLog:    slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			turn := new(unverified.Turn)
			turn.Attach(unverified.Of(conn))
			ctx = context.WithValue(ctx, connKey{}, conn)
			return connections.With(unverified.With(ctx, turn), conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateActive { // the header of a request was read
				limits.NoteRequest(conn)
			}
		},
	}
	if cfg.NetHTTP {
		go s.serve(secure != nil)
		return s, nil
	}
	s.others = newHandoverListener(listener.Addr())
	s.http2 = http2.New(ctx, http2.Config{
		Handler: handler, Budget: cfg.Budget, Now: cfg.Now, Others: s.others.handOver, StreamsMax: cfg.StreamsMax,
		Refused: s.listener.Refuse, Logger: cfg.Logger,
	})
	s.plain = http1.New(ctx, http1.Config{
		Handler: cfg.Handler, TLS: secure, Budget: cfg.Budget, Now: cfg.Now, Handover: s.handOver, Refused: s.listener.Refuse,
		Logger: cfg.Logger,
	})
	go s.serveBoth()
	return s, nil
}

// withGRPC serves requests of gRPC with one handler and all others with next.
func withGRPC(grpc, next http.Handler) http.Handler {
	if grpc == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && isGRPC(first(r.Header["Content-Type"])) {
			grpc.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isGRPC reports whether a content type is application/grpc, perhaps with a
// codec, as in application/grpc+proto, or parameters.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func (s *Server) serve(secure bool) {
	var err error
	if secure {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	s.done <- err
}

// serveBoth serves connections with http1, and those that it hands over with net/http.
func (s *Server) serveBoth() {
	others := make(chan error, 1) // the result
	go func() { others <- s.http.Serve(s.others) }()
	err := s.accept()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if problem := <-others; !errors.Is(problem, http.ErrServerClosed) {
		err = errors.Join(err, problem)
	}
	s.done <- err
}

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// accept serves connections until the listener is closed.
func (s *Server) accept() error {
	pause := acceptPauseMin
	for {
		conn, err := s.listener.Accept()
		if err == nil {
			pause = acceptPauseMin
			s.plain.Serve(conn)
			continue
		}
		// The process is out of file descriptors, or the peer was gone: keep listening.
		if temporary, ok := err.(interface{ Temporary() bool }); !ok || !temporary.Temporary() {
			return err
		}
		s.log.Warn("accepting a connection failed", "error", err)
		select {
		case <-time.After(pause):
		case <-s.plain.Ended():
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

// Connections describes the connections of a port.
type Connections struct {
	limits.Connections
	// Panics counts the connections that a panic of the server ended.
	Panics uint64
	// Memory counts the bytes of bodies being read and of answers being written.
	Memory budget.Usage
}

// Connections returns the counts.
func (s *Server) Connections() Connections {
	c := Connections{Connections: s.listener.Connections(), Memory: s.budget.Usage()}
	if s.plain != nil {
		c.Panics = s.plain.Panics() + s.http2.Panics()
		if s.amqp != nil {
			c.Panics += s.amqp.Panics()
		}
	}
	return c
}

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// KeepAlives sets whether connections stay open after an answer. The default is true. Without,
// clients reconnect, perhaps to another node.
func (s *Server) KeepAlives(keep bool) {
	s.http.SetKeepAlivesEnabled(keep)
	if s.plain != nil {
		s.plain.KeepAlives(keep)
		s.http2.KeepAlives(keep)
	}
}

// Shutdown stops accepting, ends waiting requests, and waits for the others. At the end of ctx it
// closes the connections.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.waits != nil {
		s.waits()
	}
	s.listener.EndWaits()
	plain := make(chan error, 1) // the result
	go func() {
		var err error
		if s.plain != nil {
			closed := s.listener.Close()
			frames := make(chan error, 2) // the results
			go func() { frames <- s.http2.Shutdown(ctx) }()
			go func() { frames <- s.shutdownAMQP(ctx) }()
			err = errors.Join(closed, s.plain.Shutdown(ctx), <-frames, <-frames)
		}
		plain <- err
	}()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if err = errors.Join(err, <-plain); err != nil {
		err = fmt.Errorf("requests were still under way: %w", err)
	}
	return errors.Join(err, <-s.done)
}
