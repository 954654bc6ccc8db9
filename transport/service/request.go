package service

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
)

// Request is the record of one call for the access log, the audit and the metrics. The protocol
// fills in Action, Protocol, Code, Queue, Topic and Permission. Used by one goroutine at a time.
type Request struct {
	ID       string // UUID, also in the answer
	Effect   Effect // of the action
	Action   string // empty if the request named none that exists
	Protocol string // "json", "query", "grpc"
	Code     string // error code of the answer, empty on success
	Queue    string
	Topic    string
	// Permission is the permission that the action needs, as in an access policy.
	Permission string
	Account    string // access key id of the caller
	Remote     string // address of its connection
	// Unauthenticated says that the call was refused because it had no valid key.
	Unauthenticated bool
	Duration        time.Duration
	Status          int
	Trace           *Trace // nil: it is not traced

	random [16]byte // that ID was made of
}

// Caller implements holders.Caller.
func (r *Request) Caller() holders.Holder {
	return holders.Holder{Address: r.Remote, AccessKey: r.Account}
}

// RequestOf returns the Request in ctx, or a new one if there is none.
func RequestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(holders.CallerKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// Observer counts calls that are over. Safe for concurrent use.
type Observer interface{ Observe(*Request) }
