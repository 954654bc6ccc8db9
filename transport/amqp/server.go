package amqp

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

// Bounds of one connection.
const (
	// frameBytesMax bounds the frames of a client.
	frameBytesMax = 64 << 10
	// channelMax and handleMax bound the numbers of sessions and of links, linksMax the links of all
	// sessions.
	channelMax = 4_999
	handleMax  = 4_999
	linksMax   = 5_000
	// unverifiedSessions and unverifiedLinks bound them until the handler calls Verified. The SDK of Azure
	// for Java begins a session for each entity that a program has opened, before it sends its first token.
	unverifiedSessions = 100
	unverifiedLinks    = 16
	// sessionWindow is the number of transfers that a client may send before a flow of the server.
	sessionWindow = 5_000
	// idleFramesMax bounds the frames without effect in a second.
	idleFramesMax = 10_000
	// idleBytes of a frame without effect count as much as a further one.
	idleBytes = 256
	// incompleteMax bounds the incomplete messages of a connection that takes no turns.
	incompleteMax = 16
	// discardMax bounds the bytes that are read after a close, so that the client reads why.
	discardMax = 256 << 10
	// framesPerTurn bounds the frames that a connection without a verified key processes in a turn.
	framesPerTurn = 16
)

const (
	// idleTimeout closes a connection without input. Clients are asked for frames in time.
	idleTimeout = 240 * time.Second
	// verifyTimeout bounds the time from the open of a connection to Verified.
	verifyTimeout = 30 * time.Second
	// peerIdleMin is the shortest idle time-out of a client.
	peerIdleMin = time.Second
	// lingering is the time for a client to answer a close.
	lingering = time.Second
)

// Config describes a Server.
type Config struct {
	Handler     Handler
	ContainerID string
	Budget      *budget.Bytes // nil: no limit
	Now         func() time.Time
	// Refused is called when a connection ends because of its client; may be nil.
	Refused func(why string, remote net.Addr, err error)
	Logger  *slog.Logger
}

// Server serves connections. Safe for concurrent use.
type Server struct {
	Config
	base   context.Context
	open   *http1.Open[*Conn]
	panics atomic.Uint64
}

// New returns a Server. ctx is the parent of all connections' contexts.
func New(ctx context.Context, cfg Config) *Server {
	return &Server{Config: cfg, base: ctx, open: http1.NewOpen[*Conn]()}
}

// Serve starts a goroutine that serves a connection, from its protocol header on.
func (s *Server) Serve(accepted net.Conn) {
	c := newConn(s, accepted)
	if !s.open.Add(c) {
		c.cancel()
		_ = accepted.Close() // the client is gone
		return
	}
	go c.serve()
}

// Panics returns the number of connections that a panic has ended.
func (s *Server) Panics() uint64 { return s.panics.Load() }

// Shutdown processes no further frames, waits until the handler has settled the messages that it
// has, and closes the connections with an error after which clients try another node. At the end of
// ctx it closes the others, too.
func (s *Server) Shutdown(ctx context.Context) error {
	s.open.Close()
	for _, c := range s.open.List() {
		c.leave()
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

func (s *Server) refused(why string, conn net.Conn, err error) {
	if s.Refused != nil {
		s.Refused(why, conn.RemoteAddr(), err)
	}
}

// Conditions of errors that this package sends.
const (
	ConnectionForced      = "amqp:connection:forced"
	FramingError          = "amqp:connection:framing-error"
	DecodeError           = "amqp:decode-error"
	NotAllowed            = "amqp:not-allowed"
	UnauthorizedAccess    = "amqp:unauthorized-access"
	ResourceLimitExceeded = "amqp:resource-limit-exceeded"
	HandleInUse           = "amqp:session:handle-in-use"
	UnattachedHandle      = "amqp:session:unattached-handle"
	DetachForced          = "amqp:link:detach-forced"
	TransferLimitExceeded = "amqp:link:transfer-limit-exceeded"
	MessageSizeExceeded   = "amqp:link:message-size-exceeded"
	InvalidField          = "amqp:invalid-field"
)

func failure(condition, description string) *wire.Error {
	return &wire.Error{Condition: condition, Description: description}
}
