package atom

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openNode opens a real node.
func openNode(t *testing.T) *cluster.Node {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	node, err := cluster.Open(ctx, cluster.Config{
		NodeName: "n1", DataDir: t.TempDir(), PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
		Fatal: func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	clustertest.Must(t, err)
	t.Cleanup(func() { clustertest.Check(t, node.Close(ctx)) })
	clustertest.Must(t, node.CatchUp(t.Context())) // waits for a leader
	return node
}

// failingNode is a node with an error for every call once it is set.
type failingNode struct {
	*cluster.Node
	err error
}

func (n *failingNode) Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error) {
	if n.err != nil {
		return cluster.Reply{}, n.err
	}
	return n.Node.Submit(ctx, cmd)
}

func (n *failingNode) Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error) {
	if n.err != nil {
		return cluster.Position{}, n.err
	}
	return n.Node.Read(ctx, read)
}

// fixture is a client port in front of a node of its own. All other requests than those of the administration API
// are answered with 418.
type fixture struct {
	t       *testing.T
	node    *failingNode
	url     string
	token   string // header Authorization, empty: none
	mu      sync.Mutex
	records []service.Request
}

// Observe implements service.Observer.
func (f *fixture) Observe(r *service.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.records = append(f.records, *r)
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, node: &failingNode{Node: openNode(t)}}
	o := Options{
		Backend:  service.Backend{Node: f.node, Names: service.Names{Account: "000000000000", Region: "us-east-1"}},
		Verifier: sas.AcceptAll{}, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	calls := &service.Calls{Logger: o.Logger, Observer: f, Random: rand.Reader, Now: time.Now}
	others := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	port, err := transport.Listen(t.Context(), transport.Config{
		Addr: "127.0.0.1:0", Handler: transport.Recorded(calls, New(o).Wrap(others)), Logger: o.Logger, Now: time.Now,
	})
	clustertest.Must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		clustertest.Must(t, port.Shutdown(ctx))
	})
	f.url = "http://" + port.Addr().String()
	return f
}

// answer is the answer to a request.
type answer struct {
	status int
	body   string
	header http.Header
}

// send sends a request. More are names and values of headers.
func (f *fixture) send(method, target, body string, more ...string) answer {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+target, strings.NewReader(body))
	clustertest.Must(f.t, err)
	if f.token != "" {
		r.Header.Set("Authorization", f.token)
	}
	for i := 0; i < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	// A connection for each request, so that none is open at the end of the test.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	clustertest.Must(f.t, err)
	defer func() { _ = response.Body.Close() }() // read to its end
	text, err := io.ReadAll(response.Body)
	clustertest.Must(f.t, err)
	return answer{response.StatusCode, string(text), response.Header}
}

const version = "?api-version=2021-05"

// put sends a description of a queue.
func (f *fixture) put(path, properties string, more ...string) answer {
	f.t.Helper()
	return f.send(http.MethodPut, "/"+path+version, describing("QueueDescription", properties), more...)
}

// describing returns the body of a request.
func describing(name, properties string) string {
	return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><` + name +
		` xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">` +
		properties + `</` + name + `></content></entry>`
}

func (f *fixture) get(path string) answer {
	f.t.Helper()
	return f.send(http.MethodGet, "/"+path+version, "")
}

// want fails the test unless an answer has a status and all texts.
func want(t *testing.T, got answer, status int, texts ...string) {
	t.Helper()
	if got.status != status {
		t.Fatalf("status %d, want %d: %s", got.status, status, got.body)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(got.body), text) {
			t.Errorf("no %s in %s", text, got.body)
			break
		}
	}
}

// last returns the newest record.
func (f *fixture) last() service.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.records[len(f.records)-1]
}
