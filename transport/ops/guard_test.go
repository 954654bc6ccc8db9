package ops

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
)

// wholeNode implements everything that the admin port needs of a node.
type wholeNode struct{ *memberNode }

func (wholeNode) Backup(context.Context) (*cluster.Backup, error) { return nil, cluster.ErrUnavailable }

func (wholeNode) Restore(context.Context, io.Reader, cluster.RestoreOptions) (cluster.Restored, error) {
	return cluster.Restored{}, cluster.ErrUnavailable
}

func (wholeNode) Upgrade() cluster.Upgrade { return cluster.Upgrade{} }

func (wholeNode) FinalizeUpgrade(context.Context) (cluster.Upgrade, error) {
	return cluster.Upgrade{}, nil
}

func (wholeNode) Submit(context.Context, queue.Command) (cluster.Reply, error) {
	return cluster.Reply{}, cluster.ErrUnavailable
}

func guarded(t *testing.T, log io.Writer) *Admin {
	t.Helper()
	return New(Options{
		Node: wholeNode{&memberNode{node: newNode(t)}}, Version: "1.2.3", Profiles: true, Account: "000000000000", Random: rand.Reader,
		Now: func() time.Time { return time.UnixMilli(int64(start)) }, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Tokens: Tokens{Find: func(token string) (Operator, bool) {
			role, known := ParseRole(strings.TrimPrefix(token, "secret-of-"))
			return Operator{Name: "name-of-" + role.String(), Role: role}, known
		}},
	})
}

func request(a *Admin, pattern, token string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(pattern, " ")
	r := httptest.NewRequest(method, strings.ReplaceAll(path, "{name}", "q"), strings.NewReader(`{"node":"n9"}`))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// Each endpoint accepts callers with its role or a higher one, and no others.
func TestEveryRouteWantsItsRole(t *testing.T) {
	var log bytes.Buffer
	a := guarded(t, &log)
	routes := a.routes(http.NotFoundHandler())
	if len(routes) < 30 {
		t.Fatalf("%d routes", len(routes))
	}
	for _, r := range routes {
		if strings.HasPrefix(r.pattern, "GET /debug/pprof/profile") || strings.HasPrefix(r.pattern, "GET /debug/pprof/trace") {
			continue // these calls take seconds; their role is that of the other profiles
		}
		for role := NoRole; role <= Administrator; role++ {
			token, want := "secret-of-"+role.String(), role < r.needs
			refused := http.StatusForbidden
			if role == NoRole {
				token, refused = "", http.StatusUnauthorized
			}
			if got := request(a, r.pattern, token).Code; (got == refused) != want || !want &&
				(got == http.StatusUnauthorized || got == http.StatusForbidden) {
				t.Errorf("%s as %s: %d, which needs %s", r.pattern, role, got, r.needs)
			}
		}
		if r.needs > NoRole {
			for _, token := range []string{"x", "secret-of-root", "nobody"} {
				if got := request(a, r.pattern, token).Code; got != http.StatusUnauthorized {
					t.Errorf("%s with an unknown token: %d", r.pattern, got)
				}
			}
		}
		// Only health endpoints may be open.
		if r.needs == NoRole && !strings.Contains(r.pattern, "healthz") && !strings.HasSuffix(r.pattern, "z") {
			t.Errorf("%s is open", r.pattern)
		}
	}
	if strings.Contains(log.String(), "secret-of") {
		t.Errorf("the log shows a token\n%s", log.String())
	}
}

// An executed call is logged with its caller. Refused calls are logged only once in a while.
func TestCallsAreLogged(t *testing.T) {
	var log bytes.Buffer
	a := guarded(t, &log)
	request(a, "POST /v1/cluster/remove", "secret-of-admin")
	request(a, "GET /v1/queues/nothing/messages", "secret-of-operator")
	request(a, "GET /v1/status", "secret-of-viewer")
	for range 5 {
		request(a, "POST /v1/cluster/remove", "secret-of-viewer")
		request(a, "POST /v1/cluster/remove", "")
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, parts := range [][]string{
		{`msg="admin call"`, "who=name-of-admin", "role=admin", `what="POST /v1/cluster/remove"`, "target=n9", "outcome=done",
			"status=200"},
		{`msg="admin call"`, "who=name-of-operator", "role=operator", `what="GET /v1/queues/nothing/messages"`, "outcome=refused",
			"status=404"},
		{"level=WARN", "who=name-of-viewer", "reason=role"},
	} {
		for _, part := range parts {
			if i >= len(lines) || !strings.Contains(lines[i], part) {
				t.Errorf("line %d lacks %s", i+1, part)
			}
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
	metrics := request(a, "GET /metrics", "secret-of-viewer").Body.String()
	for _, reason := range []string{"token", "role"} {
		if want := fmt.Sprintf("seriatim_admin_refused_total{reason=%q} 5", reason); !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Log(log.String())
	}
}

// Expensive calls are served only a few at a time.
func TestFewAtATime(t *testing.T) {
	a := New(Options{Node: newNode(t), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	const most = 2
	begun, release := make(chan struct{}), make(chan struct{})
	serve := a.guard.few(most, func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-release
		w.WriteHeader(http.StatusOK)
	})
	call := func() int {
		answer := httptest.NewRecorder()
		serve(answer, httptest.NewRequest(http.MethodGet, "/v1/backup", nil))
		return answer.Code
	}
	codes := make(chan int, most)
	for range most {
		go func() { codes <- call() }()
		<-begun
	}
	if code := call(); code != http.StatusServiceUnavailable {
		t.Errorf("one more than %d gets %d", most, code)
	}
	close(release)
	for range most {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("one of %d gets %d", most, code)
		}
	}
	go func() { <-begun }()
	if code := call(); code != http.StatusOK {
		t.Errorf("after the others have ended one gets %d", code)
	}
}

// The answer to a call without a token names the file with the node's own token, and is neither counted nor
// logged. The answer to an unknown token does not.
func TestRefusalsOfTokens(t *testing.T) {
	var log bytes.Buffer
	a := guarded(t, &log)
	const pattern = "GET /v1/status"
	for _, tc := range []struct{ token, ownFile, want, challenge string }{
		{"", "", "this port needs a token", "Bearer"},
		{"x", "", "this token is not valid here", "Bearer"},
		{"", "/data/admin.token", "in the file /data/admin.token", `Bearer token-file="/data/admin.token"`},
		{"x", "/data/admin.token", "this token is not valid here", "Bearer"},
	} {
		log.Reset()
		a.guard.logged = time.Time{}
		a.Tokens.OwnFile = tc.ownFile
		w := request(a, pattern, tc.token)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), tc.want) ||
			w.Header().Get("WWW-Authenticate") != tc.challenge {
			t.Errorf("%+v: HTTP %d %s %s", tc, w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
		}
		if logged := log.Len() > 0; logged != (tc.token != "" || tc.ownFile == "") {
			t.Errorf("%+v: logged %q", tc, log.String())
		}
	}
}
