package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/connections"
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
	UserAgent  string // as the client names itself; empty: not
	// Unauthenticated says that the call was refused because it had no valid key.
	Unauthenticated bool
	Duration        time.Duration
	Status          int
	Trace           *Trace // nil: it is not traced

	random     [16]byte                // that ID was made of
	connection *connections.Connection // nil: unknown
	announced  bool
}

// PortName is the name of the client port among the connections of a node.
const PortName = "client"

// Announce notes the purpose of the call at its connection, as far as it is known. A call that
// waits shows it to operators, and keeps the texts of the connection instead of those of its header.
func (r *Request) Announce() {
	r.announced = true
	if r.connection == nil {
		r.UserAgent = strings.Clone(r.UserAgent)
		return
	}
	r.UserAgent = r.connection.Note(connections.Doing{
		Protocol: r.Protocol, Action: r.Action, Queue: cmp.Or(r.Queue, r.Topic), AccessKey: r.Account, UserAgent: r.UserAgent,
	}).UserAgent
}

// Caller implements holders.Caller.
func (r *Request) Caller() holders.Holder {
	return holders.NewHolder(r.Remote, r.Account, r.Protocol, r.UserAgent)
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
