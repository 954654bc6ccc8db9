package aws

import (
	"context"
	"net/http"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Call is one request of an action. One goroutine uses it, until the action has returned.
type Call struct {
	service.Call
	API     *API
	Request *http.Request // not for an action that waits
	Form    *awswire.Form // of the Query protocol, else nil
	// Duplicate lists the sends of the answer that were dropped as duplicates, empty if none was.
	Duplicate string
	// AttemptID is the ReceiveRequestAttemptId that the server made for a receive,
	// empty if it made none.
	AttemptID string

	ctx        context.Context // of the request
	handler    *Handler
	body       string // of the JSON protocol
	examined   bool   // Identity is set
	permitted  bool   // the caller has the permission
	negotiated bool   // a Query request that accepts JSON
}

// TraceHeader returns the trace of the request, which its messages get as AWSTraceHeader; empty if
// there is none. An invalid value is ignored and not refused, because proxies add the header.
func (c *Call) TraceHeader() string {
	trace := c.Request.Header.Get("X-Amzn-Trace-Id")
	if !message.ValidTraceHeader(trace) {
		return ""
	}
	return trace
}

// searchesMax bounds the requests without a permission that make the node catch up at once. More are
// answered from the applied state, so that unauthenticated callers cannot keep the node busy.
const searchesMax = 16

// Context returns the context of the request.
func (c *Call) Context() context.Context { return c.ctx }

// Search calls look with the applied state. If look refuses, Search calls it once more when the node
// has caught up.
func (c *Call) Search(ctx context.Context, look func(queue.View) *queue.Error) error {
	var refused *queue.Error
	c.Backend.Node.ReadLocal(func(v queue.View) { refused = look(v) })
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

// Names returns the account of the cluster and the region of its ARNs.
func (c *Call) Names() service.Names { return c.Backend.Names }

// BaseURL returns the scheme and the host in the request of the client.
func (c *Call) BaseURL() string { return BaseURL(c.Request) }

// QueueURL returns the URL of a queue, whose name is qualified, as the client can reach it.
func (c *Call) QueueURL(qualified string) string { return c.Names().QueueURL(c.BaseURL(), qualified) }

// Signed reports whether the request was signed.
func (c *Call) Signed() bool { return c.Identity.AccessKeyID != "" }

// ResourceARN returns the ARN of the queue that the request names.
func (c *Call) ResourceARN() string { return c.Backend.Names.QueueARN(c.Resource.Name) }
