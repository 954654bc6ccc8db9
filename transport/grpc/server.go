package grpc

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Node executes commands and reads; *cluster.Node is one. Its methods are safe
// for concurrent use. Errors are those of service.Node.
type Node interface {
	service.Node
	// NoteUse notes that a client reads a queue.
	NoteUse(ctx context.Context, queue string) error
	// EncryptsAtRest reports whether all nodes encrypt what they write to their disks.
	EncryptsAtRest() bool
	// Receive executes a receive that waits for messages; a negative wait
	// means the queue's ReceiveMessageWaitTimeSeconds.
	Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error)
	// AcceptSession locks a session. If the command names none, it waits up to wait for a free one.
	AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (cluster.Reply, error)
	// HolderOf finds the client that holds a message group; missing lists the members that did
	// not answer.
	HolderOf(ctx context.Context, name string, g *queue.GroupInfo) (h cluster.Holder, missing []string)
	// Leader returns the ids of this node and the leader, empty if unknown.
	Leader() (self, leader string)
	// Ready returns nil if the node can serve calls.
	Ready() error
}

// messageBytesMax bounds a message of a request: a batch has 1 MiB of text; names, ids and
// structure add less than another MiB.
const messageBytesMax = 2 << 20

// Options configure a Server.
type Options struct {
	Node     Node
	Verifier sigv4.Authenticator
	// Authorizer decides what callers may do; nil: all callers may do everything.
	Authorizer auth.Authorizer
	Rate       *rate.Limiter // of calls of each account, and of messages of their streams; nil: none
	Names      service.Names
	Budget     *budget.Bytes // of the port; nil: no limit
	Calls      *service.Calls
	Random     io.Reader // source of attempt ids
	Now        func() time.Time
	Logger     *slog.Logger
}

// Server serves the native API as an http.Handler. Safe for concurrent use.
type Server struct {
	Options
	backend service.Backend
	grpc    *grpc.Server
	waits   *service.Waits   // bounds waiting receives and streams
	methods map[string]shape // by path
	unaries map[string]unaryMethod
}

// shape says which sides of a method are streams.
type shape struct{ client, server bool }

// New returns a Server. The end of ctx ends its streams and waiting calls, as Drain does.
func New(ctx context.Context, o Options) *Server {
	s := &Server{
		Options: o, backend: service.Backend{Node: o.Node, Authorizer: o.Authorizer, Rate: o.Rate, Names: o.Names},
		waits: service.NewWaits(ctx), methods: make(map[string]shape), unaries: make(map[string]unaryMethod),
	}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(messageBytesMax),
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(unknownMethod),
	)
	for d, implemented := range map[*grpc.ServiceDesc]any{
		&seriatimpb.Queues_ServiceDesc: &queues{server: s}, &seriatimpb.Topics_ServiceDesc: &topics{server: s},
		&seriatimpb.Messages_ServiceDesc: &messages{server: s}, &seriatimpb.Sessions_ServiceDesc: &sessions{server: s},
		&seriatimpb.Inspection_ServiceDesc: &inspection{server: s}, &seriatimpb.Operations_ServiceDesc: &operations{server: s},
	} {
		s.grpc.RegisterService(d, implemented)
		for _, m := range d.Methods {
			s.unaries["/"+d.ServiceName+"/"+m.MethodName] = unaryMethod{service: implemented, handle: m.Handler}
		}
	}
	probes := &health{server: s}
	healthpb.RegisterHealthServer(s.grpc, probes)
	s.unaries[healthPath+"Check"] = unaryMethod{service: probes, handle: healthpb.Health_ServiceDesc.Methods[0].Handler}
	reflection.Register(s.grpc)
	for service, info := range s.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			s.methods["/"+service+"/"+m.Name] = shape{client: m.IsClientStream, server: m.IsServerStream}
		}
	}
	return s
}

// Drain ends all streams and waiting calls, present and future, with a status that clients
// retry on another node. It returns at once.
func (s *Server) Drain() { s.waits.Drain() }

// Undrain permits streams and waiting calls again, until the end of ctx or the next Drain.
func (s *Server) Undrain(ctx context.Context) { s.waits.Undrain(ctx) }

// ServeHTTP serves one call over HTTP/2 whose body was not read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if encoding := r.Header["Grpc-Encoding"]; len(encoding) > 1 || len(encoding) == 1 && encoding[0] != uncompressed {
		refuseEncoding(w)
		return
	}
	if m, unary := s.unaries[r.URL.Path]; unary {
		if timeout, ok := plain(r); ok {
			s.serveUnary(w, r, m, timeout)
			return
		}
	}
	shape, known := s.methods[r.URL.Path]
	in := &inbound{account: allowance{budget: s.Budget}}
	defer in.account.close()
	// The library calls the method in another goroutine, which may outlive this call.
	in.request = r.Clone(context.WithValue(r.Context(), holders.CallerKey{}, in))
	if s.verify(w, in, r) != nil {
		return
	}
	unverified.From(r.Context()).Release() // a watch of the health waits
	in.body = newRequestBody(r.Context(), r.Body, s.Budget, shape.client)
	writer := &responseWriter{ResponseWriter: w, control: http.NewResponseController(w), now: s.Now, budget: s.Budget}
	if known && (shape.client || shape.server) {
		writer.endless = true
		// An error means that the connection has no deadlines, as in tests.
		_ = writer.control.SetReadDeadline(time.Time{})
		_ = writer.control.SetWriteDeadline(time.Time{})
	}
	in.request.Body = in.body
	s.grpc.ServeHTTP(writer, in.request)
	in.body.release()
}

// verify identifies the caller. It answers a refused caller, before any byte of the body is
// read, and returns the error. Health needs no key.
func (s *Server) verify(w http.ResponseWriter, in *inbound, r *http.Request) error {
	in.identity, _, in.refused = s.Verifier.Verify(r, "") // calls may be streams, so signatures leave the body out
	if strings.HasPrefix(r.URL.Path, healthPath) {
		return nil
	}
	if s.refuseAnonymous(in) == nil {
		unverified.From(r.Context()).Verified()
		return nil
	}
	ctx := context.WithValue(r.Context(), holders.CallerKey{}, in)
	c, err := s.begin(ctx, r.URL.Path)
	w.Header()["Content-Type"], w.Header()["Date"] = []string{contentType}, nil
	trailers := trailersOf(w)
	c.eachTrailer(trailers)
	err = c.end(ctx, err)
	addStatus(trailers, status.Convert(err))
	return err
}

// refuseAnonymous refuses a caller without a valid key.
func (s *Server) refuseAnonymous(in *inbound) error {
	if in.refused == nil && s.Authorizer != nil && in.operator == "" {
		return s.Authorizer.RefuseAnonymous(in.identity)
	}
	return in.refused
}

// uncompressed is the encoding of plain messages.
const uncompressed = "identity"

// refuseEncoding answers a call with compressed messages. The library would decompress them
// before the caller is verified, with any registered codec and outside of the budget.
func refuseEncoding(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"], h["Grpc-Accept-Encoding"], h["Date"] = []string{contentType}, []string{uncompressed}, nil
	addStatus(trailersOf(w), status.New(codes.Unimplemented, "Compressed messages are not supported."))
}

// services lists the services of the API. Method names are unique among them.
var services = []*grpc.ServiceDesc{
	&seriatimpb.Queues_ServiceDesc, &seriatimpb.Topics_ServiceDesc, &seriatimpb.Messages_ServiceDesc,
	&seriatimpb.Sessions_ServiceDesc, &seriatimpb.Inspection_ServiceDesc, &seriatimpb.Operations_ServiceDesc,
}

// methodName returns the name of a method of the API, empty for any other path.
func methodName(path string) string {
	service, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !slices.ContainsFunc(services, func(d *grpc.ServiceDesc) bool { return d.ServiceName == service }) {
		return ""
	}
	return name
}
