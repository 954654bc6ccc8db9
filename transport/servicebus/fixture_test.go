package servicebus

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"
	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/service"
)

// node is the one real node of all tests of the package. Each test uses its own queues.
var node *cluster.Node

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "seriatim-servicebus-")
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
	// The leader applies it after its goroutines have begun, except those of clustertest.IgnoreNode.
	if _, err := node.Submit(ctx, &queue.CreateQueue{Queue: "first"}); err != nil {
		panic(err)
	}
	return m.Run()
}

// testNode is the node, with answers that a test can replace.
type testNode struct {
	*cluster.Node
	// submit, if set, replaces Submit. It may call next, which submits to the node.
	submit atomic.Pointer[func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error)]
	// receives counts the calls of Receive in progress.
	receives atomic.Int64
	noted    atomic.Int64 // calls of NoteUse that succeeded
}

func (n *testNode) NoteUse(ctx context.Context, name string) error {
	err := n.Node.NoteUse(ctx, name)
	if err == nil {
		n.noted.Add(1)
	}
	return err
}

func (n *testNode) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error) {
	n.receives.Add(1)
	defer n.receives.Add(-1)
	return n.Node.Receive(ctx, cmd, wait)
}

func (n *testNode) Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error) {
	next := func() (cluster.Reply, error) { return n.Node.Submit(ctx, cmd) }
	if submit := n.submit.Load(); submit != nil {
		return (*submit)(next, cmd)
	}
	return next()
}

// fixture is a Server on a real client port, with the real node.
type fixture struct {
	t      *testing.T
	node   *testNode
	server *Server
	port   *transport.Server
}

// newFixture starts a fixture. change, if not nil, adjusts its options. The test fails if goroutines or
// bytes of the budget are left behind.
func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	leaks := clustertest.IgnoreNode()
	f := &fixture{t: t, node: &testNode{Node: node}}
	memory := budget.New(64 << 20)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	options := Options{
		Node: f.node, Tokens: sas.AcceptAll{}, Names: service.Names{Account: "000000000000", Region: "us-east-1"},
		Calls:  &service.Calls{Logger: logger, Random: rand.Reader, Now: time.Now},
		Random: rand.Reader, Now: time.Now, Logger: logger,
	}
	if change != nil {
		change(&options)
	}
	ctx := context.WithoutCancel(t.Context())
	f.server = New(ctx, options)
	var err error
	f.port, err = transport.Listen(ctx, transport.Config{
		Addr: "127.0.0.1:0", Budget: memory, Now: time.Now, Logger: logger, OnShutdown: f.server.Drain, AMQP: f.server, ContainerID: "n1",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "not AMQP") }),
	})
	clustertest.Must(t, err)
	t.Cleanup(func() {
		clustertest.Check(t, f.port.Shutdown(ctx))
		f.server.Wait()
		if used := memory.Usage().Used; used != 0 {
			t.Errorf("%d bytes of the budget were not given back", used)
		}
		if n := f.port.Connections().Panics; n != 0 {
			t.Errorf("%d panics", n)
		}
		goleak.VerifyNone(t, leaks...)
	})
	return f
}

var queueNumber atomic.Int64

// create makes an entity for the test, without sessions unless its attributes say otherwise.
func (f *fixture) create(more ...queue.Attribute) (path string) {
	f.t.Helper()
	path = fmt.Sprintf("q%d", queueNumber.Add(1))
	f.createQueue(path+".fifo", more...)
	return path
}

func (f *fixture) createQueue(name string, more ...queue.Attribute) {
	f.t.Helper()
	attributes := append([]queue.Attribute{
		{Name: "FifoQueue", Value: "true"}, {Name: "CompatibilityProfile", Value: "servicebus"},
		{Name: "ImplicitDeadLetterQueue", Value: "true"},
	}, more...)
	_, err := node.Submit(f.t.Context(), &queue.CreateQueue{Queue: name, Attributes: attributes})
	clustertest.Must(f.t, err)
}

var withSessions = queue.Attribute{Name: "MessageGroupIdMode", Value: "Required"}

// plain makes the receivers of an entity need no session.
var plain = queue.Attribute{Name: "MessageGroupIdMode", Value: "Optional"}

// dial connects a client of AMQP.
func (f *fixture) dial() *client.Conn {
	f.t.Helper()
	c, err := client.Dial(f.t.Context(), "amqp://"+f.port.Addr().String(), &client.ConnOptions{SASLType: client.SASLTypeAnonymous()})
	clustertest.Must(f.t, err)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f *fixture) session() *client.Session {
	f.t.Helper()
	s, err := f.dial().NewSession(f.t.Context(), nil)
	clustertest.Must(f.t, err)
	return s
}

func (f *fixture) sender(s *client.Session, address string) *client.Sender {
	f.t.Helper()
	v, err := s.NewSender(f.t.Context(), address, nil)
	clustertest.Must(f.t, err)
	return v
}

func (f *fixture) receiver(s *client.Session, address string, o *client.ReceiverOptions) *client.Receiver {
	f.t.Helper()
	if o == nil {
		o = &client.ReceiverOptions{SettlementMode: client.ReceiverSettleModeSecond.Ptr(), Credit: 10}
	}
	v, err := s.NewReceiver(f.t.Context(), address, o)
	clustertest.Must(f.t, err)
	return v
}

func (f *fixture) receive(r *client.Receiver) *client.Message {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	m, err := r.Receive(ctx, nil)
	clustertest.Must(f.t, err)
	return m
}

// message returns a message with an id.
func newMessage(id, body string) *client.Message {
	m := client.NewMessage([]byte(body))
	m.Properties = &client.MessageProperties{MessageID: id}
	return m
}
