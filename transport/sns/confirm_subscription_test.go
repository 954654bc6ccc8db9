package sns

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	victim   = "111111111111"
	topicARN = "arn:aws:sns:us-east-1:" + victim + ":t"
)

// laggingNode is a Node whose state lacks some commands until it catches up. Safe for concurrent
// use.
type laggingNode struct {
	mu        sync.Mutex
	broker    *queue.Broker
	lags      []queue.Command
	submitted int // the number of submitted commands
	reads     int
}

func newLaggingNode(t *testing.T) *laggingNode {
	t.Helper()
	n := &laggingNode{broker: queue.New()}
	n.apply(t,
		&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"},
		&access.CreateAccount{Account: victim, Quota: access.Quota{RequestsPerSecond: 5}},
		&queue.CreateTopic{Topic: victim + "/t", TopicARN: topicARN},
	)
	return n
}

func (n *laggingNode) apply(t *testing.T, commands ...queue.Command) {
	t.Helper()
	for _, cmd := range commands {
		if _, err := n.broker.Apply(1_700_000_000_000, cmd); err != nil {
			t.Fatalf("%T: %v", cmd, err)
		}
	}
}

func (n *laggingNode) Submit(_ context.Context, cmd queue.Command) (cluster.Reply, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.submitted++
	result, err := n.broker.Apply(1_700_000_000_000, cmd)
	if err != nil {
		return cluster.Reply{}, err
	}
	return cluster.Reply{Result: result}, nil
}

func (n *laggingNode) Read(_ context.Context, read func(queue.View) error) (cluster.Position, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	for _, cmd := range n.lags {
		if _, err := n.broker.Apply(1_700_000_000_000, cmd); err != nil {
			return cluster.Position{}, err
		}
	}
	n.lags = nil
	return cluster.Position{}, read(n.broker.View())
}

func (n *laggingNode) ReadLocal(read func(queue.View)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read(n.broker.View())
}

func (n *laggingNode) Access() *access.Table { return n.broker.View().Access() }

// keys uses the header Authorization as the account, and permits everything to callers with an
// account.
type keys struct{}

func (keys) Verify(r *http.Request, body string) (auth.Identity, string, error) {
	id := r.Header.Get("Authorization")
	return auth.Identity{AccessKeyID: id, Account: id}, body, nil
}

func (k keys) Authorize(_ context.Context, _ *auth.Connection, caller auth.Identity, _ auth.Permission) error {
	return k.RefuseAnonymous(caller)
}

func (keys) Revoked(auth.Identity) error { return nil }

func (keys) RefuseAnonymous(caller auth.Identity) error {
	if caller.Account != "" {
		return nil
	}
	return &auth.Error{Code: "MissingAuthenticationToken", Status: http.StatusForbidden}
}

// ask makes a request of an account, or without a key if the account is empty.
func ask(t *testing.T, h http.Handler, of string, parameters ...string) (status int, answer string) {
	t.Helper()
	form := url.Values{"Version": {"2010-03-31"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", aws.FormType)
	if of != "" {
		r.Header.Set("Authorization", of)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func newHandler(n *laggingNode) http.Handler {
	return aws.NewHandler(aws.Options{
		Backend: service.Backend{
			Node: n, Authorizer: keys{}, Names: service.Names{Account: "000000000000", Region: "us-east-1"},
			Rate: rate.New(n.Access, func() time.Time { return time.Unix(1_700_000_000, 0) }),
		},
		Verifier: keys{}, Logger: slog.New(slog.DiscardHandler),
	}, API())
}

// TestMadeUpTokensCostTheirSenders checks that requests with invented tokens write nothing to the
// log, and do not use up the requests that the topic's owner may make.
func TestMadeUpTokensCostTheirSenders(t *testing.T) {
	t.Parallel()
	n := newLaggingNode(t)
	h := newHandler(n)
	for i := range 5 {
		status, answer := ask(t, h, "", "Action", "ConfirmSubscription", "TopicArn", topicARN, "Token", strings.Repeat("0", 64))
		if status != http.StatusBadRequest || !strings.Contains(answer, "Invalid token") {
			t.Errorf("request %d: %d %s", i, status, answer)
		}
	}
	if status, answer := ask(t, h, "", "Action", "ConfirmSubscription", "TopicArn", topicARN, "Token", "x"); !strings.Contains(answer,
		"Throttl") {
		t.Errorf("strangers are not limited: %d %s", status, answer)
	}
	if n.submitted != 0 {
		t.Errorf("%d commands were submitted", n.submitted)
	}
	for i := range 5 {
		if status, answer := ask(t, h, victim, "Action", "GetTopicAttributes", "TopicArn", topicARN); status != http.StatusOK {
			t.Errorf("request %d of the owner: %d %s", i, status, answer)
		}
	}
	status, answer := ask(t, h, victim, "Action", "ConfirmSubscription", "TopicArn", topicARN+"2", "Token", "x")
	if !strings.Contains(answer, "Throttl") {
		t.Errorf("the owner is not limited: %d %s", status, answer)
	}
}

// audits counts the records of the audit.
type audits struct {
	slog.Handler
	lines int
}

func (a *audits) Enabled(context.Context, slog.Level) bool { return true }

func (a *audits) Handle(context.Context, slog.Record) error {
	a.lines++
	return nil
}

// TestUnauthenticatedCallsAreSampled checks that the handler marks refused calls without a key, of
// which the audit records only a sample.
func TestUnauthenticatedCallsAreSampled(t *testing.T) {
	t.Parallel()
	quiet, audit := slog.New(slog.DiscardHandler), new(audits)
	m := &service.Calls{Logger: quiet, Audit: slog.New(audit), Refusals: new(service.RefusalSample), Random: rand.Reader, Now: time.Now}
	h := transport.Recorded(m, newHandler(newLaggingNode(t)))
	for of, want := range map[string]int{"": 1, victim: 3} {
		audit.lines = 0
		for range 3 {
			if status, answer := ask(t, h, of, "Action", "RemovePermission", "TopicArn", topicARN+"2", "Label",
				"l"); status == http.StatusOK {
				t.Fatal(answer)
			}
		}
		if audit.lines != want {
			t.Errorf("of account %q: %d lines, want %d", of, audit.lines, want)
		}
	}
}

// TestTokenThatIsNews checks that a node asks the leader before it refuses an unknown token, and
// does not ask about a known one.
func TestTokenThatIsNews(t *testing.T) {
	t.Parallel()
	n := newLaggingNode(t)
	subscribe := &queue.Subscribe{
		Topic: victim + "/t", Owner: victim, Protocol: attributes.ProtocolHTTPS, Endpoint: "https://example.com/hook",
		Server: "http://localhost",
	}
	elsewhere := newLaggingNode(t)
	elsewhere.apply(t, subscribe)
	n.lags = []queue.Command{subscribe}
	var token string
	elsewhere.ReadLocal(func(v queue.View) {
		for _, number := range v.OutboxSubscriptions() {
			v.ScanDeliveries(number, func(_ uint64, _ queue.Timestamp, request func() queue.WebDelivery) bool {
				token = request().Request.Confirmation.Token
				return true
			})
		}
	})
	h := newHandler(n)
	for range 2 {
		status, answer := ask(t, h, "", "Action", "ConfirmSubscription", "TopicArn", topicARN, "Token", token)
		if status != http.StatusOK || !strings.Contains(answer, "<SubscriptionArn>"+topicARN+":") {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if n.submitted != 2 || n.reads != 1 {
		t.Errorf("%d commands, %d reads", n.submitted, n.reads)
	}
}

// TestOtherRegion checks that topics, subscriptions, and queues of another region are refused
// before the log.
func TestOtherRegion(t *testing.T) {
	t.Parallel()
	n := newLaggingNode(t)
	h := newHandler(n)
	const elsewhere = "arn:aws:sns:us-east-2:" + victim + ":t"
	for _, c := range []struct {
		want  string
		asked []string
	}{
		{"Invalid parameter: TopicArn", []string{"Action", "Publish", "TopicArn", elsewhere, "Message", "m"}},
		{"Invalid parameter: TopicArn", []string{"Action", "GetTopicAttributes", "TopicArn", elsewhere}},
		{"Invalid parameter: ResourceArn", []string{"Action", "ListTagsForResource", "ResourceArn", elsewhere}},
		{"Invalid parameter: SubscriptionArn", []string{"Action", "GetSubscriptionAttributes", "SubscriptionArn",
			elsewhere + ":00000000-0000-0000-0000-000000000000"}},
		{"the queue is in another region", []string{"Action", "Subscribe", "TopicArn", topicARN, "Protocol", "sqs", "Endpoint",
			"arn:aws:sqs:us-east-2:" + victim + ":q"}},
		{"is an ARN of another region", []string{
			"Action", "Subscribe", "TopicArn", topicARN, "Protocol", "sqs", "Endpoint", "arn:aws:sqs:us-east-1:" + victim + ":q",
			"Attributes.entry.1.key", "RedrivePolicy", "Attributes.entry.1.value",
			`{"deadLetterTargetArn":"arn:aws:sqs:us-east-2:` + victim + `:d"}`,
		}},
	} {
		if status, answer := ask(t, h, victim, c.asked...); status != http.StatusBadRequest || !strings.Contains(answer, c.want) {
			t.Errorf("%v: %d %s, want %s", c.asked, status, answer, c.want)
		}
	}
	if n.submitted != 0 {
		t.Errorf("%d commands were submitted", n.submitted)
	}
}
