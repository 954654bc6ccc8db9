package transport

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
)

// Request is what the access log and the metrics say about one request. The
// handler fills in Action, Protocol, Code, Queue, Topic and Permission; it belongs to the
// goroutine that serves the request.
type Request struct {
	ID       string // UUID, also in the answer
	Effect   Effect // of the action
	Action   string // empty if the request named none that exists
	Protocol string // "json", "query"
	Code     string // error code of the answer, empty on success
	Queue    string
	Topic    string
	// Permission is what a caller needs for it, as in an access policy.
	Permission string
	Account    string // access key id of the caller
	Remote     string // address of its connection
	// Stranger says that the caller was refused for want of a valid key, as anybody can be.
	Stranger bool
	Duration time.Duration
	Status   int
	Trace    *Trace // nil: it is not traced

	random [16]byte // that ID was made of
}

// Caller implements holders.Caller.
func (r *Request) Caller() holders.Holder {
	return holders.Holder{Address: r.Remote, AccessKey: r.Account}
}

// RequestOf is the Request that the middleware put into ctx, or a new one if
// there is none.
func RequestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(holders.CallerKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// Observer counts finished requests. It is called from many goroutines.
type Observer interface{ Observe(*Request) }
