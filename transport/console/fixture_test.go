package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops"
	"github.com/seriatimq/seriatim/transport/ops/records"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/sns"
	"github.com/seriatimq/seriatim/transport/sqs"
)

// openNode starts a real one-node cluster.
func openNode(dir string) (*cluster.Node, error) {
	node, err := cluster.Open(context.Background(), cluster.Config{
		NodeName: "n1", DataDir: dir, PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: slog.New(slog.DiscardHandler),
		Settings: cluster.ClusterSettings{MinimumWindowSeconds: 1},
		Fatal:    func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	if err != nil {
		return nil, err
	}
	if err := node.CatchUp(context.Background()); err != nil { // waits for a leader
		return nil, err
	}
	return node, nil
}

// filled is the node of all tests but one. It holds the things of fill.
var filled *cluster.Node

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "seriatim-console-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system removes it some day
	if filled, err = openNode(filepath.Join(dir, "n1")); err != nil {
		panic(err)
	}
	defer func() { _ = filled.Close(context.Background()) }() // the tests are over
	if err := fill(filled); err != nil {
		panic(err)
	}
	return m.Run()
}

const (
	account  = "000000000000"
	secret   = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00"
	rootKey  = "SRTMROOTROOTROOT"
	userKey  = "SRTMUSERUSERUSER"
	hostile  = `<script>alert("x")</script>'"><img src=x onerror=alert(1)>`
	bidi     = "abc\u202edef\u2066"
	oneGroup = `cust/9"<b>&`
	oneID    = `<script>alert("x")</script>`
)

// fill creates a queue with hostile content in each place, its dead-letter queue, a topic, an
// account, keys and a policy.
func fill(node *cluster.Node) error {
	entry := func(body, group, id string) queue.SendEntry {
		return queue.SendEntry{
			Body: body, GroupID: group, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
			Attributes: []queue.MessageAttribute{{Name: "kind", DataType: "String." + "x", Value: hostile}, {Name: "raw",
				DataType: "Binary", Value: "\xff\x00"}},
		}
	}
	send := func(to string, e queue.SendEntry) queue.Command {
		return &queue.SendMessages{Queue: to, Entries: []queue.SendEntry{e}}
	}
	arn := "arn:aws:sqs:us-east-1:" + account + ":dead.fifo"
	commands := []queue.Command{
		&queue.CreateQueue{Queue: "dead.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}},
		&queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{
			{Name: "FifoQueue", Value: "true"},
			{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":3}`},
		}, Tags: []queue.Tag{{Key: "team", Value: hostile}}},
		&queue.CreateQueue{Queue: "plain"},
		send("orders.fifo", entry(`{"order": 1, "by": "`+"<b>"+`"}`, "g1", "d1")),
		send("orders.fifo", entry(hostile, oneGroup, oneID)),
		send("orders.fifo", entry(bidi, "g1", "d2")),
		send("orders.fifo", entry(strings.Repeat("x", 1<<18), "big", "d3")),
		send("dead.fifo", entry("dead", "g1", "d1")),
		&access.CreateAccessKey{ID: rootKey, Secret: secret, Account: account},
		&access.CreateAccessKey{ID: userKey, Secret: secret, Account: account, User: "anna"},
		&access.PutUserPolicy{Account: account, User: "anna", Policy: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
			`"Action":["sqs:ListQueues","sqs:GetQueueAttributes","sqs:ListQueueTags"],"Resource":"*"}]}`},
		&access.CreateAccount{Account: "111111111111"},
	}
	for _, c := range commands {
		if _, err := node.Submit(context.Background(), c); err != nil {
			return fmt.Errorf("%T: %w", c, err)
		}
	}
	_, err := node.Receive(context.Background(), &queue.ReceiveMessages{Queue: "orders.fifo", VisibilityTimeout: queue.Some(3600)}, 0)
	return err
}

// tokens are the admin tokens of the fixture, by role.
var tokens = map[string]ops.Operator{
	"token-viewer": {Name: "vera", Role: ops.Viewer}, "token-operator": {Name: "otto", Role: ops.Operate},
	"token-admin": {Name: "ada", Role: ops.Administrator},
}

// fixture is a console on a real port with a real node, and a browser.
type fixture struct {
	t      *testing.T
	server *httptest.Server
	client *http.Client
	native *grpc.Server
	admin  *ops.Admin
	pages  *Console

	mu    sync.Mutex
	audit bytes.Buffer
}

// Write keeps the audit.
func (f *fixture) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.audit.Write(p)
}

func (f *fixture) audited() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.audit.String()
}

// newFixture starts a console; guarded: with tokens and access keys.
func newFixture(t *testing.T, node *cluster.Node, guarded bool) *fixture {
	t.Helper()
	f := &fixture{t: t}
	logger, names := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		service.Names{Account: account, Region: "us-east-1"}
	audit := slog.New(slog.NewTextHandler(f, nil))
	g := gate.New(node, time.Now)
	var verifier sigv4.Authenticator = sigv4.AcceptAll{}
	var authorizer auth.Authorizer
	known := ops.Tokens{}
	if guarded {
		verifier, authorizer = g, g
		known.Find = func(token string) (ops.Operator, bool) { who, ok := tokens[token]; return who, ok }
	}
	apis := []*aws.API{sqs.New(t.Context(), sqs.Options{Node: node, Names: names, Random: rand.Reader}).API(), sns.API()}
	ring := records.NewRing(1<<20, time.Now())
	f.admin = ops.New(ops.Options{
		Open: connections.New(time.Now), AuditRecords: ring, LogRecords: ring, LogLevel: new(slog.LevelVar),
		Node: node, Version: "1.2.3", Now: time.Now, Logger: logger, Audit: audit, Tokens: known, Account: account, Random: rand.Reader,
		Policies: &ops.Policies{Decide: g.Simulate, Names: names, Permissions: aws.Permissions(apis...), Enforced: guarded},
	})
	native := grpc.New(t.Context(), grpc.Options{
		Node: node, Verifier: verifier, Authorizer: authorizer, Names: names, Budget: budget.New(64 << 20), Random: rand.Reader,
		Now:    time.Now,
		Logger: logger, Calls: &service.Calls{Logger: slog.New(slog.DiscardHandler), Audit: audit, Observer: f.admin.Requests(),
			Random: rand.Reader, Now: time.Now, Sample: new(service.Sample), Refusals: new(service.RefusalSample)},
	})
	f.native = native
	if node == filled {
		topics := seriatimpb.NewTopicsClient(native.Local(grpc.LocalCaller{Operator: "test"}))
		clustertest.Must(t, clustertest.Err(topics.CreateTopic(t.Context(), &seriatimpb.CreateTopicRequest{
			Topic: "sales.fifo", Attributes: map[string]string{"FifoTopic": "true"},
		})))
		clustertest.Must(t, clustertest.Err(topics.Subscribe(t.Context(), &seriatimpb.SubscribeRequest{
			Topic: "sales.fifo", Queue: "orders.fifo", Attributes: map[string]string{"FilterPolicy": `{"a":[1]}`},
		})))
		clustertest.Must(t, clustertest.Err(topics.Publish(t.Context(), &seriatimpb.PublishRequest{
			Topic: "sales.fifo", Messages: []*seriatimpb.TopicMessage{{Message: "later", GroupId: new("g"), DeduplicationId: new("later"),
				EnqueueAtMs: time.Now().Add(time.Hour).UnixMilli()}},
		})))
	}
	f.pages = New(Options{
		Node: node, Admin: f.admin, Native: native, Tokens: known, Names: names, ClientURL: "http://127.0.0.1:9324", Enforced: guarded,
		Version: "1.2.3", Audit: audit, Logger: logger, Now: time.Now, Random: rand.Reader,
	})
	f.pages.Mount(f.admin)
	f.server = httptest.NewServer(transport.Origins{Loopback: true}.Wrap(f.admin))
	t.Cleanup(f.server.Close)
	f.client = f.browser()
	return f
}

// browser returns a client with its own cookies.
func (f *fixture) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	clustertest.Must(f.t, err)
	return &http.Client{Jar: jar, Transport: f.server.Client().Transport}
}

// answer is the answer to a request, after redirects.
type answer struct {
	code   int
	body   string
	header http.Header
	path   string
}

func (f *fixture) do(r *http.Request) answer {
	f.t.Helper()
	response, err := f.client.Do(r)
	clustertest.Must(f.t, err)
	defer func() { _ = response.Body.Close() }() // it was read
	body, err := io.ReadAll(response.Body)
	clustertest.Must(f.t, err)
	return answer{response.StatusCode, string(body), response.Header, response.Request.URL.Path}
}

func (f *fixture) get(path string) answer {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.server.URL+path, nil)
	clustertest.Must(f.t, err)
	return f.do(r)
}

// post sends a form with a token.
func (f *fixture) post(path, csrf string, pairs ...string) answer {
	f.t.Helper()
	form := url.Values{"csrf": {csrf}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.server.URL+path, strings.NewReader(form.Encode()))
	clustertest.Must(f.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", f.server.URL)
	return f.do(r)
}

var csrfPattern = regexp.MustCompile(`X-CSRF-Token&#34;: &#34;([^&]*)&#34;|"X-CSRF-Token": "([^"]*)"`)

// csrf returns the token of the session on a page.
func (f *fixture) csrf(path string) string {
	f.t.Helper()
	found := csrfPattern.FindStringSubmatch(f.get(path).body)
	if found == nil {
		f.t.Fatalf("%s has no form token", path)
	}
	return found[1] + found[2]
}

// logIn logs in with a token, and returns the form token of the new session.
func (f *fixture) logIn(token string) string {
	f.t.Helper()
	f.client = f.browser()
	got := f.post("/login", f.csrf("/login"), "token", token)
	if got.code != 200 || got.path == "/login" {
		f.t.Fatalf("the login of %s ends at %s with %d", token, got.path, got.code)
	}
	return f.csrf("/queues")
}
