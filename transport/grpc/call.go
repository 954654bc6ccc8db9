package grpc

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/service"
)

// Names of what every answer says beside its message.
const (
	metadataNode    = "seriatim-node"
	metadataLeader  = "seriatim-leader"
	metadataIndex   = "x-seriatim-index"
	metadataLogTime = "x-seriatim-log-time"
	metadataRequest = "x-seriatim-request-id"
)

// headerAccount names the account of a call, where signatures are not verified.
const headerAccount = "Seriatim-Account"

// protocol is the name of this API in the access log and in metrics.
const protocol = "grpc"

// call is one call on its way through a method. Used by one goroutine, except for
// statusOf and permitStill.
type call struct {
	service.Call
	server  *Server
	in      *inbound
	started time.Time
	method  method
	request any        // of a unary method
	queue   string     // qualified by its account
	topic   string     // likewise
	charged rate.Payer // account whose quota counts

	permitted atomic.Pointer[access.Table] // by which the caller was, nil if not yet
}

// callOf is the call that a method serves.
func callOf(ctx context.Context) *call { return inboundOf(ctx).call }

// begin records the caller and the method, and refuses a caller without a valid key.
func (s *Server) begin(ctx context.Context, path string) (*call, error) {
	c := &call{server: s, in: inboundOf(ctx), started: s.Now()}
	c.in.call, c.Backend, c.Record = c, &s.backend, new(service.Request)
	c.From = sigv4.ConnectionOf(c.in.request)
	s.Calls.Begin(c.Record, c.in.request.RemoteAddr, c.in.request.Header)
	c.Authenticated(c.in.identity, c.in.request.Header.Get(headerAccount))
	c.Record.Protocol, c.Record.Account = protocol, ""
	row, ours := methodTable[methodName(path)]
	if strings.HasPrefix(path, healthPath) {
		return c, nil
	}
	if ours {
		c.method = row
		c.Record.Action, c.Record.Permission, c.Record.Account = methodName(path), row.permission, c.Identity.AccessKeyID
		c.Record.Effect = row.effect
	}
	return c, s.refuseAnonymous(c.in) // reflection, too, is for callers with a key
}

// permit refuses a caller who may not do what the method does to a resource. Whatever
// says what a call is about asks it.
func (c *call) permit(resource service.Resource) error {
	c.Resource = resource
	if err := c.authorize(c.server.Node.Access()); err != nil {
		return err
	}
	c.charged = c.Scope.Charged(c.Identity, resource)
	return c.charge()
}

// permitStill refuses a caller who was permitted and is not any more. It costs nothing unless a key
// or a policy has changed, so that streams ask it again and again.
func (c *call) permitStill() error {
	last, table := c.permitted.Load(), c.server.Node.Access()
	if last == nil || last == table {
		return nil
	}
	return c.authorize(table)
}

// authorize asks whether the caller, with the keys and policies of a table or newer ones, may use
// the resource.
func (c *call) authorize(table *access.Table) error {
	guard := c.server.Authorizer
	if guard == nil {
		return nil
	}
	if err := guard.Revoked(c.Identity); err != nil { // a stream may say late what it is about
		return err
	}
	err := c.permits(c.method)
	if err == nil {
		c.permitted.Store(table)
	}
	return err
}

// permits asks whether the caller may do what a row says to the resource of the call, and to
// the others that it touches.
func (c *call) permits(row method) error {
	if c.server.Authorizer == nil {
		return nil
	}
	ctx := c.in.request.Context()
	if err := c.Permit(ctx, service.Need{Permission: row.permission, Resource: c.Resource}); err != nil || row.beside == nil {
		return err
	}
	needs, err := row.beside(c)
	if err != nil {
		return err
	}
	return c.PermitAll(ctx, needs)
}

// charge counts a request of the account, and refuses one too many.
func (c *call) charge() error {
	if !c.server.Rate.Allow(c.charged) {
		return service.Throttled()
	}
	return nil
}

// end makes a status of the error of a call, and logs and counts the call.
func (c *call) end(ctx context.Context, err error) error {
	var denied *auth.Error
	c.Record.Unauthenticated = c.Identity.Account == "" && errors.As(err, &denied)
	err = c.statusOf(err)
	// The client has given up at the same moment, and may hear of either.
	if f := status.Convert(err); f.Code() == codes.Unavailable && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = newError(codes.DeadlineExceeded, reasonOf(f), f.Message())
	}
	c.Record.Duration, c.Record.Status = c.server.Now().Sub(c.started), http.StatusOK
	if err != nil {
		c.Record.Code = reasonOf(status.Convert(err))
	}
	if c.Record.Action != "" {
		c.server.Calls.Report(ctx, c.Record)
	}
	return err
}

// hint says which node answers and which leads.
func (c *call) hint() metadata.MD {
	md := make(metadata.MD)
	c.eachHint(metadataTrailers{md})
	return md
}

// trailer is the hint, and where in the log the answer stands.
func (c *call) trailer() metadata.MD {
	md := make(metadata.MD)
	c.eachTrailer(metadataTrailers{md})
	return md
}

// metadataTrailers takes trailers for the library.
type metadataTrailers struct{ md metadata.MD }

// AddTrailer adds a trailer.
func (t metadataTrailers) AddTrailer(name, value string) { t.md[name] = []string{value} }

func (c *call) eachHint(to trailerWriter) {
	self, leader := c.server.Node.Leader()
	to.AddTrailer(metadataNode, self)
	to.AddTrailer(metadataRequest, c.Record.ID)
	if leader != "" {
		to.AddTrailer(metadataLeader, leader)
	}
}

func (c *call) eachTrailer(to trailerWriter) {
	c.eachHint(to)
	if c.Position.Index != 0 {
		to.AddTrailer(metadataIndex, strconv.FormatUint(c.Position.Index, 10))
		to.AddTrailer(metadataLogTime, strconv.FormatInt(int64(c.Position.LogTime), 10))
	}
}

// caught turns a panic in a method into an error: it costs its call and no more.
func (c *call) caught(panicked any, err *error) {
	if panicked == nil {
		return
	}
	c.server.Logger.Error("panic in a request handler", "request_id", c.Record.ID, "action", c.Record.Action,
		"panic", panicked, "stack", string(debug.Stack()))
	*err = newError(codes.Internal, reasonInternal, "An internal error occurred. See the log of the node for request "+c.Record.ID+".")
}

// unary is around every unary call.
func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	c, err := s.begin(ctx, info.FullMethod)
	if err == nil {
		func() {
			defer func() { c.caught(recover(), &err) }()
			c.request = request
			answer, err = handle(ctx, request)
		}()
	}
	if !c.in.unary { // serveUnary asks for it
		_ = grpc.SetTrailer(ctx, c.trailer()) // fails only for a call that is over
	}
	return answer, c.end(ctx, err)
}

// stream is around every call with a stream.
func (s *Server) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx := stream.Context()
	c, err := s.begin(ctx, info.FullMethod)
	if err == nil {
		err = stream.SetHeader(c.hint())
	}
	if err == nil {
		func() {
			defer func() { c.caught(recover(), &err) }()
			err = handle(service, &gatedStream{ServerStream: stream, call: c})
		}()
	}
	stream.SetTrailer(c.trailer())
	return c.end(ctx, err)
}

// gatedStream lets the body of a call be read message by message.
type gatedStream struct {
	grpc.ServerStream
	call   *call
	opened bool
}

// RecvMsg receives one message, which counts as a request of a caller who may make it. The first
// one opens the stream, which is counted when it says what it is about.
func (s *gatedStream) RecvMsg(m any) error {
	s.call.in.body.permit()
	err := s.ServerStream.RecvMsg(m)
	if err != nil || !s.opened {
		s.opened = true
		return err
	}
	if err := s.call.permitStill(); err != nil {
		return err
	}
	return s.call.charge()
}

// unknownMethod answers for methods that do not exist.
func unknownMethod(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	return status.Error(codes.Unimplemented, "unknown method "+path)
}

// on says which queue the call is about.
func (c *call) on(name string) error {
	if name == "" {
		return refusal.MissingParameter("queue")
	}
	if len(account.PlainName(name)) > limits.QueueNameLengthMax {
		return refusal.NoSuchQueue()
	}
	c.queue = strings.Clone(c.qualify(name)) // it outlives the request, and may be a part of it
	c.Record.Queue = c.queue
	return c.permit(service.Resource{Name: c.queue})
}

// qualify is what the state calls a name in a request: one of the caller's account unless
// it begins with another account and a slash.
func (c *call) qualify(name string) string { return c.Scope.Of(account.Split(name)) }

// cut cuts the name of a queue or a topic that is longer than any. One byte too many is
// enough for a command to refuse it. The result does not keep the rest of the request.
func cut(name string, most int) string {
	return strings.Clone(name[:min(len(name), len(name)-len(account.PlainName(name))+most+1)])
}

// refuse reports a bad value of a request after the queue was looked up: an
// unknown queue comes first (sqs.md 1.7). It is for what a command cannot carry.
func (c *call) refuse(ctx context.Context, refused *queue.Error) error {
	return c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.queue) {
			return refusal.NoSuchQueue()
		}
		return refused
	})
}

// resultOf checks that the result of a command has the type that the command gives.
func resultOf[R queue.Result](result queue.Result, err error) (r R, _ error) {
	if err != nil {
		r, _ = result.(R)
		return r, err
	}
	return service.ResultOf[R](result)
}
