package grpc

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// node is the one real node of all tests of the package. Each test uses its own queues.
var node *cluster.Node

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "seriatim-grpc-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system removes it some day
	node, err = cluster.Open(ctx, cluster.Config{
		NodeName: "n1", DataDir: filepath.Join(dir, "n1"), PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
		Settings: cluster.ClusterSettings{MinimumWindowSeconds: 1},
		Fatal:    func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Close(ctx) }()    // the tests are over
	if err := node.CatchUp(ctx); err != nil { // waits for a leader
		panic(err)
	}
	// The leader applies them after its goroutines have begun, except those of clustertest.IgnoreNode.
	for _, cmd := range []queue.Command{&queue.CreateQueue{Queue: "first"}, &queue.DeleteQueue{Queue: "first"}} {
		if _, err := node.Submit(ctx, cmd); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// testNode is the node, with answers that a test can replace.
type testNode struct {
	*cluster.Node
	// submit, if set, replaces Submit. It may call next, which submits to the node.
	submit atomic.Pointer[func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error)]
	fail   atomic.Pointer[error] // the error of every call
	noted  atomic.Int64          // calls of NoteUse that succeeded
}

func (n *testNode) NoteUse(ctx context.Context, name string) error {
	err := n.Node.NoteUse(ctx, name)
	if err == nil {
		n.noted.Add(1)
	}
	return err
}

func (n *testNode) Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error) {
	if err := n.fail.Load(); err != nil {
		return cluster.Reply{}, *err
	}
	next := func() (cluster.Reply, error) { return n.Node.Submit(ctx, cmd) }
	if submit := n.submit.Load(); submit != nil {
		return (*submit)(next, cmd)
	}
	return next()
}

func (n *testNode) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error) {
	if err := n.fail.Load(); err != nil {
		return cluster.Reply{}, *err
	}
	return n.Node.Receive(ctx, cmd, wait)
}

func (n *testNode) AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (cluster.Reply, error) {
	if err := n.fail.Load(); err != nil {
		return cluster.Reply{}, *err
	}
	return n.Node.AcceptSession(ctx, cmd, wait)
}

func (n *testNode) Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error) {
	if err := n.fail.Load(); err != nil {
		return cluster.Position{}, *err
	}
	return n.Node.Read(ctx, read)
}

// observed collects the records of finished calls. Safe for concurrent use.
type observed struct {
	mu      sync.Mutex
	records []service.Request
	more    wakeup.Broadcast
}

func (o *observed) Observe(r *service.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records = append(o.records, *r)
	o.more.Notify()
}

// last returns the newest record of an action.
func (o *observed) last(t *testing.T, action string) service.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		more := o.more.Changed()
		o.mu.Lock()
		for _, record := range slices.Backward(o.records) {
			if record.Action == action {
				defer o.mu.Unlock()
				return record
			}
		}
		o.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("no record of %s", action)
		}
	}
}

// fixture is a Server on a real client port, with the real node and a client.
type fixture struct {
	t        *testing.T
	node     *testNode
	server   *Server
	port     *transport.Server
	budget   *budget.Bytes
	observed *observed
	conn     *grpc.ClientConn
	client   seriatimpb.QueuesClient
}

// newFixture starts a fixture. change, if not nil, adjusts its options. The test fails if goroutines
// are left behind.
func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	leaks := clustertest.IgnoreNode()
	f := &fixture{t: t, node: &testNode{Node: node}, observed: &observed{}, budget: budget.New(64 << 20)}
	logger := slog.New(slog.DiscardHandler)
	options := Options{
		Node: f.node, Verifier: sigv4.AcceptAll{}, Names: service.Names{Account: "000000000000", Region: "us-east-1"}, Budget: f.budget,
		Calls:  &service.Calls{Logger: logger, Observer: f.observed, Random: rand.Reader, Now: time.Now},
		Random: rand.Reader, Now: time.Now, Logger: logger,
	}
	if change != nil {
		change(&options)
	}
	ctx := context.WithoutCancel(t.Context())
	f.server = New(ctx, options)
	var err error
	f.port, err = transport.Listen(ctx, transport.Config{
		Addr: "127.0.0.1:0", Budget: options.Budget, Now: time.Now, Logger: logger, OnShutdown: f.server.Drain,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "not gRPC") }),
		GRPC:    transport.Origins{Loopback: true}.Wrap(f.server),
	})
	clustertest.Must(t, err)
	f.conn = f.dial()
	f.client = seriatimpb.NewQueuesClient(f.conn)
	t.Cleanup(func() {
		clustertest.Check(t, f.conn.Close())
		clustertest.Check(t, f.port.Shutdown(ctx))
		if used := f.budget.Usage().Used; used != 0 {
			t.Errorf("%d bytes of the budget were not given back", used)
		}
		goleak.VerifyNone(t, leaks...)
	})
	return f
}

func (f *fixture) dial() *grpc.ClientConn {
	f.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+f.port.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy())
	clustertest.Must(f.t, err)
	return conn
}

var queueNumber atomic.Int64

// create makes a queue for the test, which is FIFO unless its attributes say otherwise.
func (f *fixture) create(attributes map[string]string) string {
	f.t.Helper()
	name := fmt.Sprintf("q%d.fifo", queueNumber.Add(1))
	all := map[string]string{"FifoQueue": "true"}
	maps.Copy(all, attributes)
	if all["FifoQueue"] == "false" {
		delete(all, "FifoQueue")
		name = fmt.Sprintf("q%d", queueNumber.Add(1))
	}
	if _, err := f.client.CreateQueue(f.t.Context(), &seriatimpb.CreateQueueRequest{Queue: name, Attributes: all}); err != nil {
		f.t.Fatal(err)
	}
	return name
}

// message returns a message whose deduplication id is its body.
func outgoingMessage(group, body string) *seriatimpb.OutgoingMessage {
	return &seriatimpb.OutgoingMessage{Body: body, GroupId: &group, DeduplicationId: &body}
}

// send sends messages of one group and checks that all are accepted.
func (f *fixture) send(queue, group string, bodies ...string) []*seriatimpb.SendResult {
	f.t.Helper()
	in := &seriatimpb.SendRequest{Queue: queue}
	for _, b := range bodies {
		in.Messages = append(in.Messages, outgoingMessage(group, b))
	}
	out, err := f.client.Send(f.t.Context(), in)
	clustertest.Must(f.t, err)
	for i, r := range out.GetResults() {
		if r.GetFailure() != nil {
			f.t.Fatalf("message %d: %v", i, r.GetFailure())
		}
	}
	return out.GetResults()
}

// receive receives up to ten messages without waiting.
func (f *fixture) receive(queue string) *seriatimpb.ReceiveResponse {
	f.t.Helper()
	out, err := f.client.Receive(f.t.Context(), &seriatimpb.ReceiveRequest{Queue: queue, MaxMessages: new(int32(10)),
		WaitSeconds: new(int32(0))})
	clustertest.Must(f.t, err)
	return out
}

func bodies(messages []*seriatimpb.Message) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, m.GetBody())
	}
	return out
}

// wantStatus checks the code and the reason of err.
func wantStatus(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if s := status.Convert(err); s.Code() != code || reasonOf(s) != reason {
		t.Errorf("got %v %s: %v, want %v %s", s.Code(), reasonOf(s), err, code, reason)
	}
}
