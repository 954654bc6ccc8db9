package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestContexts adds, chooses and removes contexts, and checks which settings come first.
func TestContexts(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	endpoint := devNode(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SERIATIM_ENDPOINT", "")
	step := func(want int, contains string, args ...string) {
		t.Helper()
		if out, code := tool(t, args...); code != want || !strings.Contains(out, contains) {
			t.Errorf("%v: exit %d, want %d with %q\n%s", args, code, want, contains, out)
		}
	}
	step(0, "stored, and current", "context", "add", "dev", "--endpoint", endpoint, "-o", "table")
	step(0, "stored\n", "context", "add", "gone", "--endpoint", "http://127.0.0.1:1", "--account", "000000000001")
	step(2, "not an account", "context", "add", "bad", "--account", "1")
	step(2, "neither http nor https", "context", "add", "bad", "--endpoint", "ftp://x")
	step(3, "AWS profile", "context", "add", "bad", "--aws-profile", "missing")
	step(2, "no key is in the environment", "context", "add", "bad", "--with-key")
	step(0, "dev   yes", "context", "list")
	step(0, "", "queue", "create", "here.fifo")
	step(0, "here.fifo", "queue", "list", "-o", "name")
	step(5, "127.0.0.1:1", "queue", "list", "--context", "gone")
	step(0, "here.fifo", "queue", "list", "--context", "gone", "--endpoint", endpoint, "--account", "000000000000")
	step(3, "dev, gone", "queue", "list", "--context", "missing")
	step(0, "context gone is current", "context", "use", "gone")
	step(3, "dev, gone", "context", "use", "missing")
	step(0, "000000000001", "context", "show", "-o", "yaml")
	t.Setenv("SERIATIM_CONTEXT", "dev")
	step(0, "here.fifo", "queue", "list", "-o", "name")
	t.Setenv("SERIATIM_CONTEXT", "")
	t.Setenv("SERIATIM_ENDPOINT", endpoint) // then the account of the current context does not apply
	step(0, "here.fifo", "queue", "list", "-o", "name")
	step(2, "not confirmed", "context", "remove", "gone")
	step(0, "removed", "context", "remove", "gone", "--yes")
	step(3, "no context is current", "context", "show")
}
