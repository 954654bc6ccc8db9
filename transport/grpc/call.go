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
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/service"
)

// Names in the metadata of answers.
const (
	metadataNode    = "seriatim-node"
	metadataLeader  = "seriatim-leader"
	metadataIndex   = "x-seriatim-index"
	metadataLogTime = "x-seriatim-log-time"
	metadataRequest = "x-seriatim-request-id"
)

// headerAccount names the account of a call if signatures are not verified.
const headerAccount = "Seriatim-Account"

// protocol names this API in the access log and in metrics.
const protocol = "grpc"

// call is one call of a method. Used by one goroutine, except for statusOf and permitStill.
type call struct {
	service.Call
	server   *Server
	in       *inbound
	started  time.Time
	method   method
	request  any        // of a unary method
	queue    string     // qualified by its account
	topic    string     // qualified by its account
	charged  rate.Payer // account whose quota is used
	operator string     // name of an operator, who needs no policy; empty: Identity calls

	permitted atomic.Pointer[access.Table] // table by which the caller was permitted
}

func callOf(ctx context.Context) *call { return inboundOf(ctx).call }

// begin starts the record of a call, and refuses callers without a valid key.
func (s *Server) begin(ctx context.Context, path string) (*call, error) {
	c := &call{server: s, in: inboundOf(ctx), started: s.Now()}
	c.in.call, c.Backend, c.Record = c, &s.backend, new(service.Request)
	c.From = sigv4.ConnectionOf(c.in.request)
	s.Calls.Begin(c.Record, connections.From(c.in.request.Context()), c.in.request.RemoteAddr, c.in.request.Header, c.started)
	c.Authenticated(c.in.identity, c.in.request.Header.Get(headerAccount))
	if c.in.operator != "" {
		c.asOperator(c.in.operator)
	}
	c.Record.Protocol, c.Record.Account = protocol, ""
	row, ours := methodTable[methodName(path)]
	if strings.HasPrefix(path, healthPath) {
		return c, nil
	}
	if ours {
		c.method = row
		c.Record.Action, c.Record.Permission, c.Record.Account = methodName(path), row.permission, c.Identity.AccessKeyID
		if c.operator != "" {
			c.Record.Account = "operator " + c.operator
		}
		c.Record.Effect = row.effect
	}
	return c, s.refuseAnonymous(c.in) // also for reflection
}

// permit sets the resource of the call, and refuses callers without the permission or quota.
func (c *call) permit(resource service.Resource) error {
	c.Resource = resource
	c.Record.Announce()
	if err := c.authorize(c.server.Node.Access()); err != nil {
		return err
	}
	c.charged = c.Scope.Charged(c.Identity, resource)
	return c.charge()
}

// permitStill refuses a caller who has lost the permission. It is cheap unless a key or a
// policy has changed, so streams call it for each message.
func (c *call) permitStill() error {
	last, table := c.permitted.Load(), c.server.Node.Access()
	if last == nil || last == table {
		return nil
	}
	return c.authorize(table)
}

// authorize checks the caller's permission with the keys and policies of a table or newer ones.
func (c *call) authorize(table *access.Table) error {
	guard := c.Backend.Authorizer
	if guard == nil {
		return nil
	}
	if err := guard.Revoked(c.Identity); err != nil { // a stream may name its queue late
		return err
	}
	err := c.permits(c.method)
	if err == nil {
		c.permitted.Store(table)
	}
	return err
}

// permits checks the permissions of a row: for the resource of the call, and for others that
// it touches.
func (c *call) permits(row method) error {
	if c.Backend.Authorizer == nil {
		return nil
	}
	ctx := c.in.request.Context()
	if err := c.Permit(ctx, service.Need{Permission: row.permission, Resource: c.Resource}); err != nil || row.needs == nil {
		return err
	}
	needs, err := row.needs(c)
	if err != nil {
		return err
	}
	return c.PermitAll(ctx, needs)
}

// charge counts a request against the quota of the account.
func (c *call) charge() error {
	if c.operator == "" && !c.server.Rate.Allow(c.charged) {
		return service.Throttled()
	}
	return nil
}

// end returns the error of a call as a status, and logs and counts the call.
func (c *call) end(ctx context.Context, err error) error {
	var denied *auth.Error
	c.Record.Unauthenticated = c.Identity.Account == "" && errors.As(err, &denied)
	err = c.statusOf(err)
	// The deadline of the client has passed, too, and says more.
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
	c.server.Calls.End(c.Record)
	return err
}

// hint returns the metadata that names this node and the leader.
func (c *call) hint() metadata.MD {
	md := make(metadata.MD)
	c.eachHint(metadataTrailers{md})
	return md
}

// trailer returns the hint and the position of the answer in the log.
func (c *call) trailer() metadata.MD {
	md := make(metadata.MD)
	c.eachTrailer(metadataTrailers{md})
	return md
}

// metadataTrailers collects trailers for the library.
type metadataTrailers struct{ md metadata.MD }

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

// caught turns a panic in a method into an error, so that it costs only its call.
func (c *call) caught(panicked any, err *error) {
	if panicked == nil {
		return
	}
	c.server.Logger.Error("panic in a request handler", "request_id", c.Record.ID, "action", c.Record.Action,
		"panic", panicked, "stack", string(debug.Stack()))
	*err = newError(codes.Internal, reasonInternal, "An internal error occurred. See the log of the node for request "+c.Record.ID+".")
}

// unary wraps every unary call.
func (s *Server) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	c, err := s.begin(ctx, info.FullMethod)
	if err == nil {
		func() {
			defer func() { c.caught(recover(), &err) }()
			c.request = request
			if c.method.subject != nil {
				err = c.method.subject(c, request)
			}
			if err == nil {
				answer, err = handle(ctx, request)
			}
		}()
	}
	if !c.in.unary { // serveUnary adds the trailers itself
		_ = grpc.SetTrailer(ctx, c.trailer()) // fails only for a call that is over
	}
	return answer, c.end(ctx, err)
}

// stream wraps every call with a stream.
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

// gatedStream lets the library read the body of a call one message at a time.
type gatedStream struct {
	grpc.ServerStream
	call   *call
	opened bool
}

// RecvMsg receives one message, which counts as a request and needs the permission. The first
// one is counted when the method has read the queue or topic in it.
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

// unknownMethod answers calls of methods that do not exist.
func unknownMethod(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	return status.Error(codes.Unimplemented, "unknown method "+path)
}

// on sets the queue of the call.
func (c *call) on(name string) error {
	if name == "" {
		return refusal.MissingParameter("queue")
	}
	if len(access.PlainName(name)) > limits.FIFONameLengthMax {
		return refusal.NoSuchQueue()
	}
	c.queue = strings.Clone(c.qualify(name)) // it outlives the text of the request
	c.Record.Queue = c.queue
	return c.permit(service.Resource{Name: c.queue})
}

// qualify returns the name with its account: the caller's, unless the name begins with another
// account and a slash.
func (c *call) qualify(name string) string { return c.Scope.Of(access.Split(name)) }

// shorten copies a name and cuts it to one byte more than the longest, which suffices for the
// command to refuse it.
func shorten(name string, most int) string {
	return strings.Clone(name[:min(len(name), len(name)-len(access.PlainName(name))+most+1)])
}

// refuse refuses a request. An unknown queue takes precedence over wrong values.
func (c *call) refuse(ctx context.Context, refused *queue.Error) error {
	if c.topic != "" {
		return refused
	}
	return service.Refuse(ctx, &c.Call, refused)
}

// resultOf checks that the result of a command has the type that the command returns.
func resultOf[R queue.Result](result queue.Result, err error) (r R, _ error) {
	if err != nil {
		r, _ = result.(R)
		return r, err
	}
	return service.ResultOf[R](result)
}
