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
	account  allowance // memory that the call holds in addition to its body
	body     *requestBody
	request  *http.Request
	identity auth.Identity
	refused  error  // the refusal of the caller, if any
	operator string // name of the operator who calls through Local; empty: identity calls
	unary    bool   // served by serveUnary, not the library
	call     *call  // set by begin
}

// Caller implements holders.Caller.
func (in *inbound) Caller() holders.Holder {
	return holders.NewHolder(in.request.RemoteAddr, in.identity.AccessKeyID, protocol, in.request.Header.Get("User-Agent"))
}

// inboundOf returns the request of a call.
func inboundOf(ctx context.Context) *inbound {
	in, _ := ctx.Value(holders.CallerKey{}).(*inbound)
	return in
}

// allowance counts the bytes of the budget that one call holds. A handler may outlive its
// request: bytes that it takes after close are returned at once. Safe for concurrent use.
type allowance struct {
	budget *budget.Bytes
	mu     sync.Mutex
	taken  int64
	closed bool
}

// acquire takes n bytes until release or close.
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

// release returns n bytes.
func (a *allowance) release(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.taken -= n
		a.budget.Release(n)
	}
}

// close returns all bytes.
func (a *allowance) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.budget.Release(a.taken)
	a.taken = 0
}

// responseWriter sets deadlines for writes. Used by one goroutine.
type responseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	budget  *budget.Bytes
	endless bool // each write gets a deadline
	limited bool // a deadline is set
}

// Write bounds the time in which the client of a stream must read p.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.endless && !w.limited {
		w.limited = true
		limit := limits.WriteLimit(messageBytesMax, w.budget.Scarce())
		_ = w.control.SetWriteDeadline(w.now().Add(limit)) // an error means that the connection has no deadlines
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends the written bytes.
func (w *responseWriter) Flush() {
	_ = w.control.Flush() // an error means that the client is gone
	if w.limited {
		w.limited = false
		_ = w.control.SetWriteDeadline(time.Time{})
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
