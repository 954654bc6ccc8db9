package client

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
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

// node is a server that counts the requests it got.
func node(t *testing.T, serve http.HandlerFunc) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		asked.Add(1)
		serve(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have left
	}
}

// breaks closes the connection after it has read the request.
func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestFailover(t *testing.T) {
	const url = "http://h/000000000000/q.fifo"
	const noLeader = `{"__type":"com.amazon.coral.service#ServiceUnavailable","message":"no leader"}`
	const unknown = `{"__type":"com.amazonaws.sqs#OutcomeUnknown","message":"perhaps"}`
	const sent = `{"MessageId":"m","SequenceNumber":"1"}`
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
		{"a read when the first is dead", dead, says(200, `{}`), []string{"queue", "list"}, exit.OK, 1, ""},
		{"a change when the first is dead", dead, says(200, sent), []string{"msg", "send", url, "x"}, exit.OK, 1, "m  1"},
		{"admin when the first is dead", dead, says(200, `{"leaderId":"n"}`), []string{"status"}, exit.OK, 1, "Role"},
		{"an admin change when the first is dead", dead, says(200, healthyMembers), []string{"cluster", "add", "n4"}, exit.OK, 1, "added"},
		{"a read that breaks off", breaks, says(200, `{}`), []string{"queue", "list"}, exit.OK, 1, ""},
		{"a receive that breaks off", breaks, says(200, `{}`), []string{"msg", "receive", url}, exit.OK, 1, "no message"},
		{"a send that breaks off", breaks, says(200, sent), []string{"msg", "send", url, "x"}, exit.Unavailable, 0, "may or may not"},
		{"a send with an id that breaks off", breaks, says(200, sent), []string{"msg", "send", url, "x", "-d", "1"}, exit.OK, 1, "m  1"},
		{"an admin change that breaks off", breaks, says(200, healthyMembers), []string{"cluster", "add", "n4"}, exit.Unavailable, 0,
			"may or may not"},
		{"no leader there", says(503, noLeader), says(200, sent), []string{"msg", "send", url, "x"}, exit.OK, 1, "m  1"},
		{"outcome unknown", says(503, unknown), says(200, sent), []string{"msg", "send", url, "x"}, exit.Unavailable, 0, "OutcomeUnknown"},
		{"outcome unknown, with an id", says(503, unknown), says(200, sent), []string{"msg", "send", url, "x", "-d", "1"},
			exit.OK, 1, "m  1"},
		{"a refusal is an answer", says(400, `{"__type":"x#QueueDoesNotExist","message":"none"}`), says(200, sent),
			[]string{"msg", "send", url, "x"}, exit.NotFound, 0, "none"},
		{"no leader anywhere", says(503, noLeader), says(503, noLeader), []string{"msg", "send", url, "x"}, exit.Unavailable, 1,
			"no leader"},
		{"all dead", dead, dead, []string{"queue", "list"}, exit.Unavailable, 0, "none of 2 nodes answers at its client port"},
		{"all dead, and what to do", dead, dead, []string{"queue", "list"}, exit.Unavailable, 0, "a majority of the voters must run"},
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

// The tables of the server decide which actions the tool repeats. An unknown action panics.
func TestRepeatsAreThoseOfTheServer(t *testing.T) {
	for _, test := range []struct {
		action          string
		plain, withAnID bool
	}{
		{"GetQueueUrl", true, true},
		{"ReceiveMessage", true, true},
		{"SendMessage", false, true},
		{"PurgeQueue", false, false},
	} {
		plain, withAnID := mayRepeat(test.action, false), mayRepeat(test.action, true)
		if plain != test.plain || withAnID != test.withAnID {
			t.Errorf("%s: may be repeated: %v, with an id: %v", test.action, plain, withAnID)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an action that no server has was accepted")
		}
	}()
	mayRepeat("Publish", true)
}

// TestReceiveIsRepeatedAsTheSameAttempt: a repeated receive returns the messages that the first
// node may have delivered. Otherwise they would block their groups until they are visible.
func TestReceiveIsRepeatedAsTheSameAttempt(t *testing.T) {
	attempts := make(chan string, 10)
	record := func(then http.HandlerFunc) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct{ ReceiveRequestAttemptId string } //nolint:revive // the wire's spelling
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			attempts <- in.ReceiveRequestAttemptId
			then(w, r)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	first, second := record(breaks), record(says(200, `{}`))
	if got := runTool(t, first+","+second, "", "msg", "receive", "http://h/0/q.fifo"); got.err != nil {
		t.Fatal(got.err)
	}
	if len(attempts) != 2 {
		t.Fatalf("%d attempts", len(attempts))
	}
	if a, b := <-attempts, <-attempts; a == "" || a != b {
		t.Errorf("attempts %q and %q", a, b)
	}
}

// TestFailoverFromSilence asks a node that accepts connections and does not answer.
func TestFailoverFromSilence(t *testing.T) {
	t.Parallel() // it waits for seconds
	hold := make(chan struct{})
	first, _ := node(t, func(http.ResponseWriter, *http.Request) { <-hold })
	t.Cleanup(func() { close(hold) }) // before the server is closed, which waits for its requests
	second, asked := node(t, says(200, `{}`))
	got := runTool(t, first+","+second, "", "queue", "list", "--timeout", "20s")
	if got.err == nil {
		if asked.Load() != 1 {
			t.Errorf("the second node was asked %d times", asked.Load())
		}
		return
	}
	t.Error(got.err)
}

func TestManyAddresses(t *testing.T) {
	t.Setenv(EnvEndpoint, "a:1, https://b:2")
	o := &options{endpoints: listOr(EnvEndpoint)}
	client, admin, err := o.ports()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(client.addresses, admin.addresses...), " "); got != "http://a:1 https://b:2 http://a:2 http://b:3" {
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
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"leaderId":"n"}`) })
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
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
		{"https to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), nil, exit.Unavailable, "answers without TLS"},
		{"http to a TLS port", strings.Replace(secure.URL, "https:", "http:", 1), nil, exit.Unavailable, "https://"},
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
	admin, _ := node(t, http.NotFound)
	got := runTool(t, client, "", "status")
	if exit.CodeOf(got.err) != exit.Usage || !strings.Contains(got.err.Error(), client+" is not the admin port of a node") {
		t.Error(got.err)
	}
	got = runTool(t, admin, "", "queue", "list")
	if exit.CodeOf(got.err) != exit.Usage || !strings.Contains(got.err.Error(), admin+" is not the client port of a node") {
		t.Error(got.err)
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
	for _, args := range []string{"status", "key create", "queue list", "backup create --file " + file} {
		r := runTool(t, address, "", strings.Fields(args)...)
		if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), elsewhere) || asked.Load() != 0 {
			t.Errorf("%s: exit code %d, %d requests went elsewhere: %v", args, exit.CodeOf(r.err), asked.Load(), r.err)
		}
	}
}
