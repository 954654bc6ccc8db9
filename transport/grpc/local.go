package grpc

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
)

// LocalCaller identifies the caller of a Local.
type LocalCaller struct {
	// Identity is that of an access key, whose policies apply. An operator has none.
	Identity auth.Identity
	// Operator names an operator of the admin port, who needs no policy; empty: Identity calls.
	Operator string
	// ReadOnly limits an operator to methods that change nothing and return no content of messages.
	ReadOnly bool
	// Account is the account of names without one, if an operator calls.
	Account string
	// Request carried the call here: its connection and its user agent are logged.
	Request *http.Request
}

// Local calls the unary methods of a Server inside the process, with the checks, the log and the
// audit of calls from the network. Clients made by package seriatimpb can use it.
type Local struct {
	server *Server
	caller LocalCaller
}

var _ grpc.ClientConnInterface = (*Local)(nil)

// Local returns a connection for a caller.
func (s *Server) Local(caller LocalCaller) *Local { return &Local{server: s, caller: caller} }

// contents is the permission of methods that return or change contents of messages.
const contents = "sqs:ReceiveMessage"

// Invoke calls a unary method.
func (l *Local) Invoke(ctx context.Context, path string, request, answer any, _ ...grpc.CallOption) error {
	method, known := l.server.unaries[path]
	if !known {
		return status.Error(codes.Unimplemented, "unknown method "+path)
	}
	if row := methodTable[methodName(path)]; l.caller.ReadOnly && (row.effect != service.Reads || row.permission == contents) {
		return newError(codes.PermissionDenied, "AccessDenied",
			"The role viewer may neither change anything nor read messages. This needs the role operator.")
	}
	in := &inbound{
		account: allowance{budget: l.server.Budget}, identity: l.caller.Identity, operator: l.caller.Operator, unary: true,
		request: l.httpRequest(ctx, path),
	}
	defer in.account.close()
	decode := func(into any) error {
		proto.Merge(into.(proto.Message), request.(proto.Message))
		return nil
	}
	out, err := method.handle(method.service, context.WithValue(ctx, holders.CallerKey{}, in), decode, l.server.unary)
	if err != nil {
		return err
	}
	proto.Merge(answer.(proto.Message), out.(proto.Message))
	return nil
}

// NewStream refuses streams: only unary methods can be called.
func (l *Local) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "a local connection has no streams")
}

// httpRequest returns the request that a call from the network would have.
func (l *Local) httpRequest(ctx context.Context, path string) *http.Request {
	r := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}, Header: http.Header{}}).WithContext(ctx)
	if from := l.caller.Request; from != nil {
		r.RemoteAddr, r.TLS = from.RemoteAddr, from.TLS
		r.Header.Set("User-Agent", strings.ToValidUTF8(from.UserAgent(), ""))
	}
	if l.caller.Account != "" {
		r.Header.Set(headerAccount, l.caller.Account)
	}
	return r
}

// asOperator makes the call one of an operator: policies and quotas of accounts do not apply.
func (c *call) asOperator(name string) {
	c.Backend = &service.Backend{Node: c.Backend.Node, Names: c.Backend.Names}
	c.Authenticated(auth.Identity{}, c.in.request.Header.Get(headerAccount))
	c.operator = name
}
