package client

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	// DefaultRetryFor bounds the time in which a call is repeated.
	DefaultRetryFor = 30 * time.Second

	keepaliveTime    = 20 * time.Second
	keepaliveTimeout = 10 * time.Second
	messageBytesMax  = 16 << 20
)

// Options configure a client. The zero value is useful.
type Options struct {
	TLS      *tls.Config       // nil: no TLS
	RetryFor time.Duration     // 0: DefaultRetryFor; negative: no retries
	Attempts int               // bounds the attempts of a call that is no stream; 0: RetryFor alone does
	Header   map[string]string // sent with each call
	Key      *Key              // signs the calls; nil: they are not signed
	// Account is the account of names without one, 12 digits; empty: that of the cluster. A
	// server that verifies signatures ignores it and takes the account of the key.
	Account string
	Dial    []grpc.DialOption // appended to the client's own
	// ContentDeduplication leaves messages for FIFO queues without an id, for queues with
	// ContentBasedDeduplication. Otherwise the client draws an id for them. It does not repeat the
	// call of a message without an id.
	ContentDeduplication bool
}

// Key is an access key of the cluster.
type Key struct {
	ID, Secret string
	Region     string // empty: us-east-1; the server ignores it
}

// Client talks to the nodes of one cluster. Safe for concurrent use.
type Client struct {
	options   Options
	endpoints []*endpoint

	mu      sync.Mutex
	current int            // index of the endpoint for the next call
	byNode  map[string]int // endpoints by the ids of their nodes
}

// endpoint is one node.
type endpoint struct {
	address string
	conn    *grpc.ClientConn
	queues  seriatimpb.QueuesClient // for streams
	topics  seriatimpb.TopicsClient // for streams
}

// Dial returns a client for the client addresses (host:port) of one or more nodes. It
// connects with the first call.
func Dial(options Options, addresses ...string) (*Client, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no address to connect to")
	}
	if options.RetryFor == 0 {
		options.RetryFor = DefaultRetryFor
	}
	secure := insecure.NewCredentials()
	if options.TLS != nil {
		secure = credentials.NewTLS(options.TLS)
	}
	c := &Client{options: options, byNode: make(map[string]int)}
	for _, address := range addresses {
		conn, err := grpc.NewClient(address, append(Signing(options.Key, address), append([]grpc.DialOption{
			grpc.WithTransportCredentials(secure),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)),
		}, options.Dial...)...)...)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.endpoints = append(c.endpoints, &endpoint{
			address: address, conn: conn, queues: seriatimpb.NewQueuesClient(conn), topics: seriatimpb.NewTopicsClient(conn),
		})
	}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	var err error
	for _, e := range c.endpoints {
		err = errors.Join(err, e.conn.Close())
	}
	return err
}

// pick returns the endpoint for the next call.
func (c *Client) pick() (at int, e *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.endpoints[c.current]
}

// Address returns the address of the node for the next call: the last one that answered, or the
// leader.
func (c *Client) Address() string {
	_, e := c.pick()
	return e.address
}

// learn reads the node and the leader in the metadata of an answer. The next call goes to
// the leader if its endpoint is known.
func (c *Client) learn(at int, hints metadata.MD) {
	node, leader := hints.Get("seriatim-node"), hints.Get("seriatim-leader")
	if len(node) != 1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byNode[node[0]] = at
	if len(leader) != 1 || leader[0] == node[0] {
		return
	}
	if there, known := c.byNode[leader[0]]; known {
		c.current = there
	} else if c.current == at && len(c.byNode) < len(c.endpoints) {
		c.current = (at + 1) % len(c.endpoints) // it may be the leader
	}
}

// leave switches to the next endpoint, unless another call has switched already.
func (c *Client) leave(at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == at {
		c.current = (at + 1) % len(c.endpoints)
	}
}

// header adds the metadata of each call.
func (c *Client) header(ctx context.Context) context.Context {
	if c.options.Account != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "seriatim-account", c.options.Account)
	}
	for key, value := range c.options.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx
}

// Call makes a unary call until it succeeds, is refused, or must not be repeated. Set
// repeatable if a second execution changes nothing more. For example:
//
//	out, err := client.Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ListQueues, in)
func Call[S, In, Out any](ctx context.Context, c *Client, repeatable bool, service func(grpc.ClientConnInterface) S,
	method func(S, context.Context, *In, ...grpc.CallOption) (*Out, error), in *In,
) (*Out, error) {
	out, _, err := call(ctx, c, repeatable, service, method, in)
	return out, err
}

// call is like Call. repeated reports that an earlier attempt may have been executed.
func call[S, In, Out any](ctx context.Context, c *Client, repeatable bool, service func(grpc.ClientConnInterface) S,
	method func(S, context.Context, *In, ...grpc.CallOption) (*Out, error), in *In,
) (out *Out, repeated bool, err error) {
	ctx = c.header(ctx)
	r := newRetries(ctx, c.options.RetryFor)
	defer func() { r.cancel() }()
	for attempt := 1; ; attempt++ {
		at, e := c.pick()
		var hints metadata.MD
		var reached peer.Peer // without an address the call was never sent
		out, err = method(service(e.conn), ctx, in, grpc.Trailer(&hints), grpc.Peer(&reached))
		c.learn(at, hints)
		if err == nil || ctx.Err() != nil {
			return out, repeated, err
		}
		sent := false
		switch kindOf(err) {
		case final:
			return out, repeated, err
		case unknown:
			if sent = reached.Addr != nil; sent && !repeatable {
				c.leave(at)
				return out, repeated, err
			}
		case notDone:
		}
		if r.over() || attempt == c.options.Attempts {
			return out, repeated, err
		}
		repeated = repeated || sent
		c.leave(at)
		r.wait()
	}
}

// kind classifies a failed call.
type kind int

const (
	final   kind = iota // refused: a repetition would be refused, too
	notDone             // not executed: repeat it
	unknown             // perhaps executed
)

// Reason returns the reason of an error of this API, such as QueueDoesNotExist; empty for
// any other error.
func Reason(err error) string {
	if failure, ok := errors.AsType[*FailureError](err); ok {
		return failure.Reason
	}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "seriatim" {
			return info.GetReason()
		}
	}
	return ""
}

func kindOf(err error) kind {
	reason := Reason(err)
	switch status.Code(err) {
	case codes.Unavailable:
		if reason != "" && reason != reasonOutcomeUnknown {
			return notDone
		}
		return unknown
	case codes.Internal, codes.Unknown, codes.Canceled:
		if reason == "" { // an error of the connection, not of the server
			return unknown
		}
	default:
	}
	return final
}

const reasonOutcomeUnknown = "OutcomeUnknown"

// BatchError is the error of a call in which some entries failed. It wraps the first failure.
type BatchError struct {
	Failures []*FailureError // one for each entry, in order; nil: the entry succeeded
}

// Error returns the text of the first failure.
func (e *BatchError) Error() string { return e.first().Error() }

// Unwrap returns the first failure.
func (e *BatchError) Unwrap() error { return e.first() }

func (e *BatchError) first() *FailureError {
	return e.Failures[slices.IndexFunc(e.Failures, func(f *FailureError) bool { return f != nil })]
}

// batchError returns the error of a call with an outcome for each entry, nil if all succeeded.
func batchError(outcomes []*seriatimpb.Outcome) error {
	failures, failed := make([]*FailureError, len(outcomes)), false
	for i, o := range outcomes {
		failures[i], _ = errors.AsType[*FailureError](failureOf(o.GetFailure()))
		failed = failed || failures[i] != nil
	}
	if !failed {
		return nil
	}
	return &BatchError{failures}
}

// FailureError describes the refusal of one message of a call.
type FailureError struct {
	Code    codes.Code
	Reason  string // as in the error table of the manual
	Message string
}

// Error returns the reason and the message.
func (e *FailureError) Error() string { return e.Reason + ": " + e.Message }

// failureOf returns the error of a result, nil if it has none.
func failureOf(f *seriatimpb.Failure) error {
	if f == nil {
		return nil
	}
	return &FailureError{Code: codes.Code(f.GetCode()), Reason: f.GetReason(), Message: f.GetMessage()}
}

// passing reports whether a repetition may succeed.
func passing(f *seriatimpb.Failure) bool { return codes.Code(f.GetCode()) == codes.Unavailable }
