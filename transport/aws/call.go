package aws

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Node executes commands and reads; *cluster.Node is one. Its methods are safe
// for concurrent use. An error is a *queue.Error if a rule refused, else one of
// the errors of package cluster.
type Node interface {
	// Submit executes a command.
	Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error)
	// Read calls read with a state that contains all that was acknowledged.
	Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error)
	// ReadLocal calls read with the state as far as this node knows it.
	ReadLocal(read func(queue.View))
	// Access is which accounts there are, as far as this node knows.
	Access() *access.Table
}

// Call is one request on its way through an action. Used by one goroutine, and
// not after its action has returned.
type Call struct {
	API      *API
	Record   *transport.Request
	Request  *http.Request // not for an action that waits
	Identity auth.Identity
	Resource Resource      // what the request is about, as its action's line says
	Scope    Scope         // whose the names in the request are
	Form     *awswire.Form // of the Query protocol, else nil
	// Position is where in the log the answer stands.
	Position cluster.Position
	// Duplicate is what the answer says of sends that were dropped as
	// duplicates, empty if none was.
	Duplicate string
	// AttemptID is the ReceiveRequestAttemptId that the server made for a receive,
	// empty if it made none.
	AttemptID string

	ctx        context.Context // of the request
	handler    *Handler
	body       string // of the JSON protocol
	repeated   bool   // the node made the command twice
	examined   bool   // Identity is who the caller is
	permitted  bool   // the caller may do what was asked for
	negotiated bool   // a Query request that wants JSON
}

// TraceHeader is the trace of the request, which the messages that it makes have as
// AWSTraceHeader; empty if there is none. Proxies add it, so a bad one is no fault of
// the client.
func (c *Call) TraceHeader() string {
	trace := c.Request.Header.Get("X-Amzn-Trace-Id")
	if !content.ValidTraceHeader(trace) {
		return ""
	}
	return trace
}

// Submit executes a command and notes its position in the log.
func (c *Call) Submit(ctx context.Context, cmd queue.Command) (queue.Result, error) {
	reply, err := c.handler.Node.Submit(ctx, cmd)
	c.Position, c.repeated = reply.Position, reply.Repeated
	return reply.Result, err
}

// Read reads the state and notes the position it was read at.
func (c *Call) Read(ctx context.Context, read func(queue.View) error) error {
	position, err := c.handler.Node.Read(ctx, read)
	c.Position = position
	return err
}

// searchesMax is how many requests of callers who need no permission may make the node catch up
// at once. More are answered by what it knows, so that strangers cannot keep it busy.
const searchesMax = 16

// Context is that of the request.
func (c *Call) Context() context.Context { return c.ctx }

// Search looks for something in the state as far as this node knows it, and once more when the
// node has caught up if it is refused.
func (c *Call) Search(ctx context.Context, look func(queue.View) *queue.Error) error {
	var refused *queue.Error
	c.handler.Node.ReadLocal(func(v queue.View) { refused = look(v) })
	if refused == nil {
		return nil
	}
	select {
	case c.handler.searches <- struct{}{}:
		defer func() { <-c.handler.searches }()
	default:
		return refused
	}
	turn := unverified.From(ctx)
	held := turn.Release() // others work meanwhile
	defer func() { turn.Resume(held) }()
	return c.Read(ctx, func(v queue.View) error {
		if refused := look(v); refused != nil {
			return refused
		}
		return nil
	})
}

// Names are the account of the cluster and the region that names of resources have.
func (c *Call) Names() Names { return c.handler.Names }

// BaseURL is scheme and host of the server as the client named them.
func (c *Call) BaseURL() string { return BaseURL(c.Request) }

// SenderID returns the sender of a message: the principal id of the caller. Where signatures are
// not verified, it is the access key id that the request claims, or the account.
func (c *Call) SenderID() string {
	if c.handler.Authorizer != nil {
		return cmp.Or(c.Identity.PrincipalID(), auth.Anonymous)
	}
	if c.Identity.AccessKeyID != "" {
		return c.Identity.AccessKeyID
	}
	return c.Scope.CallerID()
}

// Signed reports whether the request was signed.
func (c *Call) Signed() bool { return c.Identity.AccessKeyID != "" }

// ResourceARN is the ARN of what the request is about.
func (c *Call) ResourceARN() string { return c.handler.Names.QueueARN(c.Resource.Name) }

// ResultOf makes sure that a command was answered by its own kind of result.
func ResultOf[R queue.Result](result queue.Result) (R, error) {
	r, ok := result.(R)
	if !ok {
		return r, fmt.Errorf("the command was answered with a %T, want a %T", result, r)
	}
	return r, nil
}
