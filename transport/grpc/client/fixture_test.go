package client_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/service"
)

// node is the one real node of all tests of the package, and address its client port, which the
// examples use.
var (
	node    *cluster.Node
	address string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "seriatim-client-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system removes it some day
	node, err = cluster.Open(ctx, cluster.Config{
		NodeName: "n1", DataDir: filepath.Join(dir, "n1"), PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
		Fatal: func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
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
	front, err := listen(ctx, "127.0.0.1:0", &face{Node: node, id: "n1"})
	if err != nil {
		panic(err)
	}
	defer func() { _ = front.port.Shutdown(ctx) }() // the tests are over
	address = front.port.Addr().String()
	// After one call all goroutines of the port run. Leak checks ignore them from then on.
	c, err := client.Dial(client.Options{}, address)
	if err == nil {
		_, err = c.QueueAttributes(ctx, "none")
		err = errors.Join(c.Close(), nilIf(client.Reason(err) == "QueueDoesNotExist", err))
	}
	if err != nil {
		panic(err)
	}
	return m.Run()
}

func nilIf(expected bool, err error) error {
	if expected {
		return nil
	}
	return err
}

// face is the node under another name, so that one node can act as several.
type face struct {
	*cluster.Node
	id     string
	leader atomic.Pointer[string] // nil: this one
	calls  atomic.Int64           // Submit and Receive
	// broken, if set, is called after a command was executed. If it returns an error, this replaces
	// the answer.
	broken atomic.Pointer[func(queue.Command) error]
}

func (f *face) Leader() (self, leader string) {
	if leader := f.leader.Load(); leader != nil {
		return f.id, *leader
	}
	return f.id, f.id
}

func (f *face) answer(cmd queue.Command, reply cluster.Reply, err error) (cluster.Reply, error) {
	f.calls.Add(1)
	if broken := f.broken.Load(); broken != nil && err == nil {
		err = (*broken)(cmd)
	}
	return reply, err
}

func (f *face) Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error) {
	reply, err := f.Node.Submit(ctx, cmd)
	return f.answer(cmd, reply, err)
}

func (f *face) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error) {
	reply, err := f.Node.Receive(ctx, cmd, wait)
	return f.answer(cmd, reply, err)
}

func (f *face) AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (cluster.Reply, error) {
	reply, err := f.Node.AcceptSession(ctx, cmd, wait)
	return f.answer(cmd, reply, err)
}

type front struct {
	face   *face
	server *grpc.Server
	port   *transport.Server
}

func listen(ctx context.Context, address string, node *face) (*front, error) {
	logger := slog.New(slog.DiscardHandler)
	server := grpc.New(ctx, grpc.Options{
		Node: node, Verifier: sigv4.AcceptAll{}, Names: service.Names{Account: "000000000000", Region: "us-east-1"},
		Calls: &service.Calls{Logger: logger, Random: rand.Reader, Now: time.Now}, Random: rand.Reader, Now: time.Now, Logger: logger,
	})
	port, err := transport.Listen(ctx, transport.Config{
		Addr: address, Now: time.Now, Logger: logger, Handler: http.NotFoundHandler(), GRPC: server, OnShutdown: server.Drain,
	})
	return &front{node, server, port}, err
}

// stop ends a port cleanly.
func (f *front) stop(t *testing.T) {
	t.Helper()
	clustertest.Check(t, f.port.Shutdown(context.WithoutCancel(t.Context())))
}

// newClient returns a client of several ports, all of which end with the test.
func newClient(t *testing.T, names ...string) (*client.Client, []*front) {
	t.Helper()
	leaks := clustertest.IgnoreNode()
	ctx := context.WithoutCancel(t.Context())
	var fronts []*front
	var addresses []string
	for _, name := range names {
		f, err := listen(ctx, "127.0.0.1:0", &face{Node: node, id: name})
		clustertest.Must(t, err)
		fronts = append(fronts, f)
		addresses = append(addresses, f.port.Addr().String())
	}
	c, err := client.Dial(client.Options{}, addresses...)
	clustertest.Must(t, err)
	t.Cleanup(func() {
		clustertest.Check(t, c.Close())
		for _, f := range fronts {
			f.stop(t)
		}
		goleak.VerifyNone(t, leaks...)
	})
	return c, fronts
}

var queueNumber atomic.Int64

func create(t *testing.T, c *client.Client, suffix string) string {
	t.Helper()
	name := fmt.Sprintf("c%d%s", queueNumber.Add(1), suffix)
	clustertest.Must(t, clustertest.Err(c.CreateQueue(t.Context(), name, nil, nil)))
	return name
}
