package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestFailover(t *testing.T) {
	const url = "http://h/000000000000/q"
	const fifo = url + ".fifo"
	none := replies(&seriatimpb.ListQueuesResponse{}) // also an answer without messages
	stored := replies(sent)
	noLeader := refuses(codes.Unavailable, "NoLeader", "no leader")
	unknown := refuses(codes.Unavailable, "OutcomeUnknown", "perhaps")
	dead := http.HandlerFunc(nil)
	cases := []struct {
		name   string
		first  http.HandlerFunc // nil: nothing listens
		second http.HandlerFunc
		args   []string
		code   exit.Code
		asked  int32 // the second node, how often
		text   string
	}{
		{"a read when the first is dead", dead, none, []string{"queue", "list"}, exit.OK, 1, ""},
		{"a change when the first is dead", dead, stored, []string{"msg", "send", url, "x"}, exit.OK, 1, "m  1"},
		{"admin when the first is dead", dead, says(200, `{"leaderId":"n"}`), []string{"status"}, exit.OK, 1, "Role"},
		{"an admin change when the first is dead", dead, says(200, healthyMembers), []string{"cluster", "add", "n4"}, exit.OK, 1, "added"},
		{"a read that breaks off", breaks, none, []string{"queue", "list"}, exit.OK, 1, ""},
		{"an admin read that breaks off", breaks, says(200, `{"leaderId":"n"}`), []string{"status"}, exit.OK, 1, "Role"},
		{"a receive that breaks off", breaks, none, []string{"msg", "receive", fifo}, exit.OK, 1, "no message"},
		{"a send that breaks off", breaks, stored, []string{"msg", "send", url, "x"}, exit.Unavailable, 0, "may or may not"},
		{"a send without an id that breaks off", breaks, stored, []string{"msg", "send", fifo, "x"}, exit.Unavailable, 0, "may or may not"},
		{"a send with an id that breaks off", breaks, stored, []string{"msg", "send", fifo, "x", "-d", "1"}, exit.OK, 1, "m  1"},
		{"an admin change that breaks off", breaks, says(200, healthyMembers), []string{"cluster", "add", "n4"}, exit.Unavailable, 0,
			"may or may not"},
		{"no leader there", noLeader, stored, []string{"msg", "send", url, "x"}, exit.OK, 1, "m  1"},
		{"no leader there, of admin", says(503, `{"error":"no leader"}`), says(200, `{"leaderId":"n"}`), []string{"status"}, exit.OK, 1,
			"Role"},
		{"outcome unknown", unknown, stored, []string{"msg", "send", url, "x"}, exit.Unavailable, 0, "OutcomeUnknown"},
		{"outcome unknown, with an id", unknown, stored, []string{"msg", "send", fifo, "x", "-d", "1"}, exit.OK, 1, "m  1"},
		{"a refusal is an answer", refuses(codes.NotFound, "QueueDoesNotExist", "none"), stored, []string{"msg", "send", url, "x"},
			exit.NotFound, 0, "none"},
		{"no leader anywhere", noLeader, noLeader, []string{"msg", "send", url, "x"}, exit.Unavailable, 1, "no leader"},
		{"all dead", dead, dead, []string{"queue", "list"}, exit.Unavailable, 0, "none of 2 nodes answers at its client port"},
		{"all dead, and what to do", dead, dead, []string{"queue", "list"}, exit.Unavailable, 0, "a majority of the voters must run"},
		{"all admin ports dead", dead, dead, []string{"status"}, exit.Unavailable, 0, "none of 2 nodes answers at its admin port"},
		{"ready is about one node", says(503, "not ready"), says(200, "ok"), []string{"check", "ready"}, exit.Usage, 0, "about one node"},
		{"live is about one node", dead, says(200, "ok"), []string{"check", "live"}, exit.Usage, 0, "about one node"},
		{"drain is about one node", says(200, `{}`), says(200, `{}`), []string{"cluster", "drain"}, exit.Usage, 0, "about one node"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			start := func(serve http.HandlerFunc) (string, *atomic.Int32) {
				if serve == nil {
					return closedPort(t), new(atomic.Int32)
				}
				return node(t, serve)
			}
			first, _ := start(test.first)
			second, asked := start(test.second)
			got := runTool(t, first+","+second, "", test.args...)
			text := got.out + got.words
			if got.err != nil {
				text += got.err.Error() + exit.HintOf(got.err)
			}
			if exit.CodeOf(got.err) != test.code || asked.Load() != test.asked || !strings.Contains(text, test.text) {
				t.Errorf("code %d, want %d; the second node was asked %d times, want %d; want %q in\n%s",
					exit.CodeOf(got.err), test.code, asked.Load(), test.asked, test.text, text)
			}
		})
	}
}

// A message is no duplicate of its own first attempt.
func TestNoDuplicateOfItself(t *testing.T) {
	again := replies(&seriatimpb.SendResponse{Results: []*seriatimpb.SendResult{{MessageId: "m", SequenceNumber: 1, Duplicate: new(true)}}})
	second, _ := node(t, again)
	broken, _ := node(t, breaks)
	for first, duplicate := range map[string]bool{broken: false, closedPort(t): true} {
		r := runTool(t, first+","+second, "", "msg", "send", "q.fifo", "x", "-g", "g", "-d", "1")
		if r.err != nil || strings.Contains(r.words, "duplicate") != duplicate {
			t.Errorf("%v, %q; want a duplicate: %t", r.err, r.words, duplicate)
		}
	}
}

// A URL names a client port that answers.
func TestURLAfterFailover(t *testing.T) {
	second, _ := node(t, replies(&seriatimpb.CreateQueueResponse{QueueArn: "arn:aws:sqs:us-east-1:000000000000:q"}))
	r := runTool(t, closedPort(t)+","+second, "", "queue", "create", "q")
	if r.err != nil || r.out != second+"/000000000000/q\n" {
		t.Errorf("%q, %v", r.out, r.err)
	}
}

// TestFailoverFromSilence asks a node that accepts connections and does not answer.
func TestFailoverFromSilence(t *testing.T) {
	t.Parallel() // it waits for seconds
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() }) // the test is over
	for command, answer := range map[string]http.HandlerFunc{
		"queue list": replies(&seriatimpb.ListQueuesResponse{}), "status": says(200, `{"leaderId":"n"}`),
	} {
		second, asked := node(t, answer)
		got := runTool(t, "http://"+silent.Addr().String()+","+second, "", append(strings.Fields(command), "--timeout", "4s")...)
		if got.err != nil || asked.Load() != 1 {
			t.Errorf("%s: the second node was asked %d times: %v", command, asked.Load(), got.err)
		}
	}
}

func TestManyAddresses(t *testing.T) {
	t.Setenv(EnvEndpoint, "a:1, https://b:2")
	o := &options{endpoints: listOr(EnvEndpoint)}
	endpoints, admin, err := o.ports()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(endpoints, admin.addresses...), " "); got != "http://a:1 https://b:2 http://a:2 http://b:3" {
		t.Error(got)
	}
	o.admins = []string{"https://c:3"}
	if _, admin, err = o.ports(); err != nil || strings.Join(admin.addresses, " ") != "https://c:3" {
		t.Errorf("%v, %v", admin, err)
	}
	if _, _, err = (&options{}).ports(); exit.CodeOf(err) != exit.Usage {
		t.Errorf("no endpoint: %v", err)
	}
}

func TestTLS(t *testing.T) {
	client, admin := replies(&seriatimpb.ListQueuesResponse{}), says(200, `{"leaderId":"n"}`)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			client(w, r)
		} else {
			admin(w, r)
		}
	})
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain, _ := node(t, handler)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	cases := []struct {
		name, address string
		args          []string
		code          exit.Code
		text          string
	}{
		{"untrusted", secure.URL, nil, exit.Unavailable, "--ca-file"},
		{"trusted", secure.URL, []string{"--ca-file", ca}, exit.OK, ""},
		{"another name", other, []string{"--ca-file", ca}, exit.Unavailable, "for which the certificate was issued"},
		{"https to a plain port", strings.Replace(plain, "http:", "https:", 1), nil, exit.Unavailable, "answers without TLS"},
		{"no such file", secure.URL, []string{"--ca-file", ca + ".not"}, exit.Usage, "--ca-file"},
		{"no certificate", secure.URL, []string{"--ca-file", "failover_test.go"}, exit.Usage, "holds no certificate"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			for _, command := range []string{"queue list", "status"} { // the client port, the admin port
				got := runTool(t, test.address, "", append(strings.Fields(command), test.args...)...)
				message := ""
				if got.err != nil {
					message = got.err.Error() + "\n" + exit.HintOf(got.err)
				}
				if exit.CodeOf(got.err) != test.code || !strings.Contains(message, test.text) ||
					strings.Contains(message, "is the server running") {
					t.Errorf("%s: code %d, want %d and %q in %q", command, exit.CodeOf(got.err), test.code, test.text, message)
				}
			}
		})
	}
}

func TestNoTLS(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for _, command := range []string{"status", "queue list"} {
		r := runTool(t, strings.Replace(secure.URL, "https:", "http:", 1), "", strings.Fields(command)...)
		if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(exit.HintOf(r.err), "https://") {
			t.Errorf("%s: exit code %d, hint %q: %v", command, exit.CodeOf(r.err), exit.HintOf(r.err), r.err)
		}
	}
}

// TestTokenInTheClear: if the client port has TLS, the tool sends no token to a guessed admin port
// without TLS.
func TestTokenInTheClear(t *testing.T) {
	t.Setenv(EnvAdminToken, "of anna")
	run := func(args ...string) error {
		root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands()...)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs(args)
		return root.ExecuteContext(t.Context())
	}
	for _, command := range []string{"status", "backup create --file " + filepath.Join(t.TempDir(), "b")} {
		err := run(append(strings.Fields(command), "--endpoint", "https://n1.invalid:9324")...)
		if exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), "in the clear") ||
			!strings.Contains(exit.HintOf(err), "--admin https://n1.invalid:9325") {
			t.Errorf("%s: exit code %d, hint %q: %v", command, exit.CodeOf(err), exit.HintOf(err), err)
		}
		for _, meant := range [][]string{
			{"--endpoint", "https://127.0.0.1:1"}, {"--endpoint", "http://n1.invalid:9324"},
			{"--endpoint", "https://n1.invalid:9324", "--admin", "http://127.0.0.1:1"},
		} {
			if err := run(append(strings.Fields(command), meant...)...); exit.CodeOf(err) != exit.Unavailable {
				t.Errorf("%s %v: exit code %d: %v", command, meant, exit.CodeOf(err), err)
			}
		}
	}
}

// TestExpiredCertificate: its hint differs from that for an unknown authority.
func TestExpiredCertificate(t *testing.T) {
	err := tlsFailure("https://n1:9324", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}})
	if exit.CodeOf(err) != exit.Unavailable || !strings.Contains(exit.HintOf(err), "clock") {
		t.Errorf("exit code %d, hint %q: %v", exit.CodeOf(err), exit.HintOf(err), err)
	}
}

func TestWrongPort(t *testing.T) {
	client, _ := node(t, func(w http.ResponseWriter, _ *http.Request) { // as the client port answers a path of the admin port
		w.Header().Set("X-Amzn-Requestid", "r")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<UnknownOperationException/>")
	})
	admin := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(admin.Close)
	got := runTool(t, client, "", "status")
	if exit.CodeOf(got.err) != exit.Usage || !strings.Contains(got.err.Error(), client+" is not the admin port of a node") {
		t.Error(got.err)
	}
	got = runTool(t, admin.URL, "", "queue", "list")
	if exit.CodeOf(got.err) != exit.Usage || !strings.Contains(exit.HintOf(got.err), "set --endpoint or SERIATIM_ENDPOINT") {
		t.Errorf("%v, hint %q", got.err, exit.HintOf(got.err))
	}
}

// TestAddressWithPassword: no error shows the password in an address, even if the address has
// another mistake.
func TestAddressWithPassword(t *testing.T) {
	for _, text := range []string{"http://anna:geheim@10.0.0.1:9325", "http://anna:geheim@10.0.0.1:9325/x",
		"http://anna:geheim%zz@10.0.0.1:9325", "anna:geheim@10.0.0.1?x=y", "ftp://anna:geheim@10.0.0.1"} {
		_, err := parseAddress("admin", text)
		if exit.CodeOf(err) != exit.Usage || strings.Contains(err.Error(), "geheim") {
			t.Errorf("exit code %d: %v", exit.CodeOf(err), err)
		}
	}
}

// TestRedirects: the tool follows no redirect, so that no token goes to another server.
func TestRedirects(t *testing.T) {
	t.Setenv("SERIATIM_ADMIN_TOKEN", "geheim")
	elsewhere, asked := node(t, says(200, "{}"))
	address, _ := node(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	})
	file := filepath.Join(t.TempDir(), "b")
	for _, args := range []string{"status", "key create", "backup create --file " + file} {
		r := runTool(t, address, "", strings.Fields(args)...)
		if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), elsewhere) || asked.Load() != 0 {
			t.Errorf("%s: exit code %d, %d requests went elsewhere: %v", args, exit.CodeOf(r.err), asked.Load(), r.err)
		}
	}
}

// If a call of a command ran out of time at a silent node, the next call asks another node. Otherwise
// a short call, which a command repeats, would never get an answer.
func TestSilenceIsRemembered(t *testing.T) {
	silent, asked := node(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	second, _ := node(t, says(200, `{"queues":[{"name":"q"}]}`))
	w := &wire{admin: &port{addresses: []string{silent, second}}, timeout: defaultTimeout, http: httpClient(nil, defaultTimeout, 2),
		ownTokens: new(sync.Map)}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var page document.Queues
	if err := w.get(short, "/v1/queues", nil, &page); exit.CodeOf(err) != exit.Timeout {
		t.Fatalf("of a silent node: %v", err)
	}
	before := asked.Load()
	if err := w.get(t.Context(), "/v1/queues", nil, &page); err != nil || len(page.Queues) != 1 || asked.Load() != before {
		t.Errorf("%v, %v, the silent node was asked %d times", page, err, asked.Load())
	}
}
