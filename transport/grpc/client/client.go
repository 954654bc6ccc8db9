package client

import (
	"context"
	"crypto/tls"
	"errors"
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
	// DefaultRetryFor is the time in which a call is repeated.
	DefaultRetryFor = 30 * time.Second

	keepaliveTime    = 20 * time.Second
	keepaliveTimeout = 10 * time.Second
	messageBytesMax  = 16 << 20
)

// Options change how a client works. The zero value is good.
type Options struct {
	TLS      *tls.Config       // nil: no TLS
	RetryFor time.Duration     // 0: DefaultRetryFor; negative: calls are made once
	Attempts int               // the most attempts of one call, streams apart; 0: as many as RetryFor allows
	Header   map[string]string // sent with each call
	Key      *Key              // what calls are signed with; nil: they are not
	// Account is what names without an account mean where the server verifies no
	// signatures, 12 digits; empty: that of the cluster. Elsewhere it is that of the key.
	Account string
	Dial    []grpc.DialOption // added to the client's own
	// ContentDeduplication sends messages for FIFO queues without an id if they have
	// none, for queues with ContentBasedDeduplication. Else the client makes one.
	ContentDeduplication bool
}

// Key is an access key of the cluster.
type Key struct {
	ID, Secret string
	Region     string // empty: us-east-1; the server compares none
}

// Client talks to the nodes of one cluster. Safe for concurrent use.
type Client struct {
	options   Options
	endpoints []*endpoint

	mu      sync.Mutex
	current int            // index of the endpoint to ask
	byNode  map[string]int // endpoints by the ids of their nodes
}

// endpoint is one node.
type endpoint struct {
	conn   *grpc.ClientConn
	queues seriatimpb.QueuesClient
	topics seriatimpb.TopicsClient
}

// Dial makes a client of the client addresses (host:port) of one or more nodes. It
// connects when it is first used.
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
			conn: conn, queues: seriatimpb.NewQueuesClient(conn), topics: seriatimpb.NewTopicsClient(conn),
		})
	}
	return c, nil
}

// Close ends the connections.
func (c *Client) Close() error {
	var err error
	for _, e := range c.endpoints {
		err = errors.Join(err, e.conn.Close())
	}
	return err
}

// pick is the endpoint to ask now.
func (c *Client) pick() (at int, e *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.endpoints[c.current]
}

// learn takes the hints of an answer: the next call goes to the leader if it is
// known where that is.
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
		c.current = (at + 1) % len(c.endpoints) // perhaps it is that one
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

// header adds what is sent with each call.
func (c *Client) header(ctx context.Context) context.Context {
	if c.options.Account != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "seriatim-account", c.options.Account)
	}
	for key, value := range c.options.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx
}

// Call makes a call, any call of the service Queues, until it succeeds, is refused,
// or may not be repeated. repeatable says that making it twice is the same as once.
// call passes the options on.
func (c *Client) Call(ctx context.Context, repeatable bool, call func(context.Context, seriatimpb.QueuesClient, ...grpc.CallOption) error) error {
	return c.call(ctx, repeatable, func(ctx context.Context, e *endpoint, o ...grpc.CallOption) error { return call(ctx, e.queues, o...) })
}

// CallTopics is Call for the service Topics.
func (c *Client) CallTopics(ctx context.Context, repeatable bool, call func(context.Context, seriatimpb.TopicsClient, ...grpc.CallOption) error) error {
	return c.call(ctx, repeatable, func(ctx context.Context, e *endpoint, o ...grpc.CallOption) error { return call(ctx, e.topics, o...) })
}

// CallOn is Call for any service, whose calls are made on a connection.
func (c *Client) CallOn(ctx context.Context, repeatable bool, call func(context.Context, grpc.ClientConnInterface, ...grpc.CallOption) error) error {
	return c.call(ctx, repeatable, func(ctx context.Context, e *endpoint, o ...grpc.CallOption) error { return call(ctx, e.conn, o...) })
}

func (c *Client) call(ctx context.Context, repeatable bool, call func(context.Context, *endpoint, ...grpc.CallOption) error) error {
	ctx = c.header(ctx)
	r := newRetries(ctx, c.options.RetryFor)
	defer func() { r.cancel() }()
	for attempt := 1; ; attempt++ {
		at, e := c.pick()
		var hints metadata.MD
		var reached peer.Peer // without an address the call never left
		err := call(ctx, e, grpc.Trailer(&hints), grpc.Peer(&reached))
		c.learn(at, hints)
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch kindOf(err) {
		case final:
			return err
		case unknown:
			if !repeatable && reached.Addr != nil {
				c.leave(at)
				return err
			}
		case notDone:
		}
		if r.over() || attempt == c.options.Attempts {
			return err
		}
		c.leave(at)
		r.wait()
	}
}

// kind says what a failed call may have done.
type kind int

const (
	final   kind = iota // refused: it would be again
	notDone             // nothing: it may be made again
	unknown             // perhaps it took effect
)

// Reason is the reason of an error of this API, as QueueDoesNotExist; empty for
// any other.
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
		if reason == "" { // of the connection, not of the server
			return unknown
		}
	default:
	}
	return final
}

const reasonOutcomeUnknown = "OutcomeUnknown"

// FailureError is the reason why the server refused a message or a settlement.
type FailureError struct {
	Code    codes.Code
	Reason  string // as in the error table of the manual
	Message string
}

// Error is the reason and the message.
func (e *FailureError) Error() string { return e.Reason + ": " + e.Message }

// failureOf is the error of a result, nil if it has none.
func failureOf(f *seriatimpb.Failure) error {
	if f == nil {
		return nil
	}
	return &FailureError{Code: codes.Code(f.GetCode()), Reason: f.GetReason(), Message: f.GetMessage()}
}

// passing reports whether a result's failure may not come again.
func passing(f *seriatimpb.Failure) bool { return codes.Code(f.GetCode()) == codes.Unavailable }
