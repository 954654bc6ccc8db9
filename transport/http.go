package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Timeouts and sizes of a listener. Long polls set the lower bounds: a request
// may take 20 s of waiting, then up to 10 s to find a leader, so nothing here
// may end one before a minute has passed.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 60 * time.Second // header and body; a body that trickles in ends here
	writeTimeout      = 120 * time.Second
	idleTimeout       = 120 * time.Second
	headerBytesMax    = 64 << 10 // presigned requests carry long query strings
	// BodyBytesMax bounds a request body. A batch holds 1 MiB of text, of
	// which JSON may write each byte as \uXXXX (six bytes); attribute names,
	// ids and structure fit into the rest.
	BodyBytesMax = 8 << 20
	// DefaultConnectionsMax bounds the connections of one listener.
	DefaultConnectionsMax = 20_000
)

// Config describes one listener.
type Config struct {
	Addr           string // host:port, port 0 for any
	TLSCert        string // PEM file, empty: no TLS
	TLSKey         string // PEM file
	ConnectionsMax int    // 0: DefaultConnectionsMax; further connections wait to be accepted
	Handler        http.Handler
	// Now lets plain requests over HTTP/1.1 without TLS be served at less cost
	// than net/http's, see http1Server; nil leaves all to net/http.
	Now func() time.Time
	// OnShutdown is called when Shutdown begins, to end requests that only
	// wait, as long polls do; it returns at once.
	OnShutdown func()
	Logger     *slog.Logger
}

// Server is a listener with its connections. Safe for concurrent use.
type Server struct {
	http     http.Server
	http1    *http1Server      // nil if all is net/http's
	others   *handoverListener // what http1 leaves to http
	listener *limitListener
	waits    func()     // Config.OnShutdown, may be nil
	done     chan error // capacity 1: the one result of Serve
}

// Listen binds the address and begins to serve. ctx is the parent of all
// requests' contexts; its end cancels them.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.ConnectionsMax == 0 {
		cfg.ConnectionsMax = DefaultConnectionsMax
	}
	var secure *tls.Config
	if cfg.TLSCert != "" || cfg.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("load the TLS certificate %s with key %s: %w", cfg.TLSCert, cfg.TLSKey, err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for clients on %s: %w", cfg.Addr, err)
	}
	s := &Server{listener: newLimitListener(listener, cfg.ConnectionsMax), waits: cfg.OnShutdown, done: make(chan error, 1)}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = http.Server{
		Handler: cfg.Handler, TLSConfig: secure, Protocols: &protocols,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytesMax,
		ErrorLog:    slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if secure == nil && cfg.Now != nil {
		s.others = newHandoverListener(listener.Addr())
		s.http1 = newHTTP1Server(ctx, cfg, s.others.give)
		go s.serveBoth()
	} else {
		go s.serve(secure != nil)
	}
	return s, nil
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

// serveBoth serves plain requests itself, and the others with net/http.
func (s *Server) serveBoth() {
	others := make(chan error, 1) // the one result
	go func() { others <- s.http.Serve(s.others) }()
	err := s.http1.accept(s.listener)
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if problem := <-others; !errors.Is(problem, http.ErrServerClosed) {
		err = errors.Join(err, problem)
	}
	s.done <- err
}

// Connections describes the connections of a listener.
type Connections struct {
	Open  int
	Limit int
	// Held counts how often no further connection was accepted before another
	// ended.
	Held uint64
}

// Connections counts what is open now.
func (s *Server) Connections() Connections {
	return Connections{Open: int(s.listener.open.Load()), Limit: cap(s.listener.slots), Held: s.listener.held.Load()}
}

// Addr is the address bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// KeepAlives says whether connections are kept after an answer, as they are from
// the start. Without, clients come back on a new connection, perhaps elsewhere.
func (s *Server) KeepAlives(keep bool) {
	s.http.SetKeepAlivesEnabled(keep)
	if s.http1 != nil {
		s.http1.keepAlives(keep)
	}
}

// Shutdown stops accepting, ends what only waits, and gives the other requests
// until the end of ctx; then it closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.waits != nil {
		s.waits()
	}
	plain := make(chan error, 1) // the one result
	go func() {
		var err error
		if s.http1 != nil {
			err = errors.Join(s.listener.Close(), s.http1.shutdown(ctx))
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
