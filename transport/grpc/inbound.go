package grpc

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// inbound is the HTTP request that carries a call.
type inbound struct {
	account  allowance // of what the call holds beside its body
	body     *requestBody
	request  *http.Request
	identity auth.Identity
	refused  error // why the caller is refused, if so
	unary    bool  // serveUnary serves it, not the library
	call     *call // once it has begun
}

// Caller implements holders.Caller.
func (in *inbound) Caller() holders.Holder {
	return holders.Holder{Address: in.request.RemoteAddr, AccessKey: in.identity.AccessKeyID}
}

// inboundOf is the request of a call.
func inboundOf(ctx context.Context) *inbound {
	in, _ := ctx.Value(holders.CallerKey{}).(*inbound)
	return in
}

// allowance is what one call holds of the budget. A handler may outlive its
// request, so what it takes after close is given back at once. Safe for
// concurrent use.
type allowance struct {
	budget *budget.Bytes
	mu     sync.Mutex
	taken  int64
	closed bool
}

// acquire takes n bytes until release, or until the request is over.
func (a *allowance) acquire(ctx context.Context, n int64) error {
	turn := unverified.From(ctx)
	held := turn.Release() // it may wait
	err := a.budget.Acquire(ctx, n, budget.WaitMax)
	if turn.Resume(held); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		a.budget.Release(n)
		return nil
	}
	a.taken += n
	return nil
}

// release gives n bytes back.
func (a *allowance) release(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.taken -= n
		a.budget.Release(n)
	}
}

// close gives back what is left.
func (a *allowance) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.budget.Release(a.taken)
	a.taken = 0
}

// responseWriter sets deadlines for what is written. Used by one goroutine.
type responseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	budget  *budget.Bytes
	endless bool // each write has a deadline of its own
	limited bool // there is one now
}

// Write gives the client of a stream a bounded time to read p.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.endless && !w.limited {
		w.limited = true
		limit := limits.WriteLimit(messageBytesMax, w.budget.Scarce())
		_ = w.control.SetWriteDeadline(w.now().Add(limit)) // an error means that there are no deadlines
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (w *responseWriter) Flush() {
	_ = w.control.Flush() // an error means that the client is gone
	if w.limited {
		w.limited = false
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
