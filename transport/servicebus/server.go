package servicebus

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/service"
)

// Node executes commands and reads; *cluster.Node is one. Safe for concurrent use. Errors are those of
// service.Node.
type Node interface {
	service.Node
	// NoteUse notes that a client reads a queue.
	NoteUse(ctx context.Context, queue string) error
	// Receive executes a receive that waits for messages.
	Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error)
	// AcceptSession locks a session. If the command names none, it waits up to wait for a free one.
	AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (cluster.Reply, error)
}

// Options configure a Server.
type Options struct {
	Node   Node
	Tokens sas.Authenticator
	// Authorizer decides what callers may do; nil: all callers may do everything.
	Authorizer auth.Authorizer
	Rate       *rate.Limiter // of calls of each account; nil: none
	Names      service.Names
	Calls      *service.Calls
	Random     io.Reader // source of attempt ids
	Now        func() time.Time
	Logger     *slog.Logger
}

// Server is the amqp.Handler of Service Bus clients. Safe for concurrent use.
type Server struct {
	Options
	backend service.Backend
	waits   *service.Waits
	work    sync.WaitGroup // goroutines
	// transactionTime is the time from the first part of a transaction to its discharge.
	transactionTime time.Duration
}

var _ amqp.Handler = (*Server)(nil)

// New returns a Server. The end of ctx ends its waiting receives, as Drain does.
func New(ctx context.Context, o Options) *Server {
	return &Server{
		Options: o, waits: service.NewWaits(ctx), transactionTime: transactionTime,
		backend: service.Backend{Node: o.Node, Authorizer: o.Authorizer, Rate: o.Rate, Names: o.Names},
	}
}

// Drain detaches all links that receive, present and future, with an error after which clients connect
// again. It returns at once.
func (s *Server) Drain() { s.waits.Drain() }

// Undrain permits links that receive again, until the end of ctx or the next Drain.
func (s *Server) Undrain(ctx context.Context) { s.waits.Undrain(ctx) }

// Wait waits for the work that the ended connections have left: sends, settlements, and the release of
// sessions. No connection may be open.
func (s *Server) Wait() { s.work.Wait() }

// Authenticate accepts the mechanisms PLAIN and EXTERNAL where no key is needed.
func (s *Server) Authenticate(*amqp.Conn, string, string, string) bool { return s.Authorizer == nil }

// Opened begins a connection.
func (s *Server) Opened(c *amqp.Conn, open *wire.Open) *wire.Error {
	c.Value = s.newConnection(c, open)
	if s.Authorizer == nil {
		c.Verified()
	}
	return nil
}

// Attach begins a link.
func (s *Server) Attach(r *amqp.Request) {
	c, _ := r.Conn().Value.(*connection) // Opened has set it
	a := &attachment{connection: c, request: r}
	a.ctx = c.beginAttach(r)
	s.work.Go(func() {
		defer c.endAttach(r)
		a.answer()
	})
}

// Abandoned ends a link that was not answered.
func (s *Server) Abandoned(r *amqp.Request) {
	if of, ok := r.Conn().Value.(*connection); ok {
		of.endAttach(r)
	}
}

// SessionEnded needs nothing: its links have ended.
func (s *Server) SessionEnded(*amqp.Session) {}

// Ended ends a connection.
func (s *Server) Ended(c *amqp.Conn) {
	if of, ok := c.Value.(*connection); ok {
		of.end()
	}
}
