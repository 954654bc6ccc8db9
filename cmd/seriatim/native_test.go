package main

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// typed runs a command with an input for its prompts.
func typed(t *testing.T, input string, args ...string) (out, words string, code exit.Code) {
	t.Helper()
	var o, w strings.Builder
	code = run(t.Context(), args, strings.NewReader(input), &o, &w)
	return o.String(), w.String(), code
}

// Destructive commands work after the name is typed, and not for another name.
func TestNativePrompts(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	for _, args := range []string{
		"queue create q.fifo", "msg send q.fifo one -g a -d id", "session accept q.fifo a --lock 600", "session state set q.fifo b x",
		"dedup window q.fifo 1h",
	} {
		must(t, append(strings.Fields(args), "--endpoint", endpoint)...)
	}
	for _, c := range []struct{ args, name, prompt, done, after, shows string }{
		{"group release q.fifo a", "a", "has locked the group as a session", "a session lock was in force", "group explain q.fifo a",
			"Nothing holds the group"},
		{"dedup window q.fifo 10m", "q.fifo", "and 1 id is remembered: those that are older than 10m", "", "dedup window q.fifo", "10m\n"},
		{"dedup forget q.fifo id", "id", "the id to forget", "forgotten id", "dedup stats q.fifo", "Live          0\n"},
		{"session state clear q.fifo b", "b", "whose state is to be cleared", "cleared b", "session state get q.fifo b", "no state"},
	} {
		args := append(strings.Fields(c.args), "--endpoint", endpoint)
		if _, words, code := typed(t, "other\n", args...); code != exit.Usage || !strings.Contains(words, c.prompt) ||
			!strings.Contains(words, "nothing was changed") {
			t.Errorf("%s, another name typed: exit code %d\n%s", c.args, code, words)
		}
		after := append(strings.Fields(c.after), "--endpoint", endpoint)
		if out, words, _ := typed(t, "", after...); strings.Contains(out+words, c.shows) {
			t.Errorf("%s happened unconfirmed\n%s", c.args, out)
		}
		if _, words, code := typed(t, c.name+"\n", args...); code != exit.OK || !strings.Contains(words, c.done) {
			t.Errorf("%s: exit code %d\n%s", c.args, code, words)
		}
		if out, words, code := typed(t, "", after...); code != exit.OK || !strings.Contains(out+words, c.shows) {
			t.Errorf("%s did not happen\n%s%s", c.args, out, words)
		}
	}
	if _, words, code := typed(t, "from\nstdin", "session", "state", "set", "q.fifo", "c", "--endpoint", endpoint); code != exit.OK {
		t.Error(words)
	}
	if out, _, _ := typed(t, "", "session", "state", "get", "q.fifo", "c", "--endpoint", endpoint); out != "from\nstdin" {
		t.Errorf("the state is %q", out)
	}
	for args, want := range map[string]string{
		"__complete group show --endpoint " + endpoint + " q":        "q.fifo\n",
		"__complete group show --endpoint " + endpoint + " q.fifo a": "a\n",
		"__complete group show --endpoint " + endpoint + " q.fifo x": ":4\n",
	} {
		if out, _, _ := typed(t, "", strings.Fields(args)...); !strings.HasPrefix(out, want) {
			t.Errorf("%s offers %q, want %q", args, out, want)
		}
	}
}

// breaker is an output whose first write ends the command.
type breaker struct{ interrupt func() }

func (b breaker) Write(p []byte) (int, error) {
	b.interrupt()
	return len(p), nil
}

// TestInterruptedSession: an interrupted command releases the session that it locked.
func TestInterruptedSession(t *testing.T) {
	endpoint := devNode(t)
	must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint)
	must(t, "session", "state", "set", "orders.fifo", "s", "x", "--endpoint", endpoint)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	run(ctx, []string{"session", "state", "get", "orders.fifo", "s", "--endpoint", endpoint}, strings.NewReader(""),
		breaker{interrupt}, io.Discard)
	if ctx.Err() == nil {
		t.Fatal("it was not interrupted")
	}
	must(t, "session", "accept", "orders.fifo", "s", "--endpoint", endpoint)
}

// Connection errors of the native API have a hint.
func TestNativeFailures(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := listener.Addr().String()      // it accepts connections and never answers
	defer func() { _ = listener.Close() }() // nothing depends on it
	for _, c := range []struct {
		name, args, want string
		code             exit.Code
	}{
		{"nobody", "--endpoint 127.0.0.1:1", "seriatim dev", exit.Unavailable},
		{"nobody at both", "--endpoint 127.0.0.1:1,127.0.0.1:2", "none of 2 nodes answers at its client port", exit.Unavailable},
		{"the second answers", "--endpoint 127.0.0.1:1," + endpoint, "", exit.OK},
		{"no TLS there", "--endpoint " + strings.Replace(endpoint, "http:", "https:", 1), "write it with http:// instead of https://",
			exit.Unavailable},
		{"mixed", "--endpoint https://127.0.0.1:1,http://127.0.0.1:2", "write all of them in the same way", exit.Usage},
		{"silence", "--timeout 200ms --endpoint " + silent, "raise --timeout", exit.Timeout},
		{"the admin port", "--endpoint " + adminOf(t, endpoint), "set --endpoint or SERIATIM_ENDPOINT to a client port", exit.Usage},
		{"format", "-o xml --endpoint " + endpoint, "use -o table, wide", exit.Usage},
		{"authorities", "--ca-file /does/not/exist --endpoint " + endpoint, "/does/not/exist", exit.Usage},
	} {
		if c.code == exit.OK {
			must(t, "queue", "create", "q.fifo", "--endpoint", endpoint)
		}
		_, words, code := typed(t, "", append([]string{"dedup", "stats", "q.fifo"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(words, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", c.name, code, c.code, c.want, words)
		}
	}
}

// adminOf is the admin port of a node of dev.
func adminOf(t *testing.T, endpoint string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(host, strconv.Itoa(atoi(t, port)+1))
}
