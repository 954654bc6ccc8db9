package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every destructive command asks for confirmation, and has the flags --yes and --dry-run.
func TestDestructiveCommandsAsk(t *testing.T) {
	t.Parallel()
	verbs := []string{"purge", "delete", "remove", "replace", "forget", "revoke", "disable", "finalize", "unsubscribe", "redrive", "cancel",
		"clear", "release", "window", "discard"}
	// These commands delete only their own data, or data that comes back.
	free := []string{"msg delete", "msg release", "session release", "dlq cancel"}
	asking := 0
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		path = strings.TrimPrefix(path+" "+c.Name(), " ")
		for _, sub := range c.Commands() {
			walk(sub, path)
		}
		if c.HasSubCommands() {
			return
		}
		marked := c.Annotations[destructive] != ""
		if wanted := slices.Contains(verbs, c.Name()) && !slices.Contains(free, path) || path == "definitions import"; marked != wanted {
			t.Errorf("%s: marked as destructive %v, want %v", path, marked, wanted)
		}
		for _, flag := range []string{"yes", "dry-run"} {
			if has := c.Flags().Lookup(flag) != nil; has != marked {
				t.Errorf("%s has --%s: %v", path, flag, has)
			}
		}
		if marked {
			asking++
		}
	}
	for _, c := range Commands() {
		walk(c, "")
	}
	if asking < 15 {
		t.Errorf("%d commands ask", asking)
	}
}

// A dry run prints the loss, as text or as JSON, and changes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	const u = "http://h/000000000000/q"
	for format, want := range map[string]string{"table": "q has 1 visible, 0 in flight, 0 deferred and 0 delayed " +
		"messages.\nDry run: nothing was changed.\n", "json": `"dryRun": true`} {
		endpoint, _ := fakeServer(t, map[string]any{"GetQueueAttributes": counted("1", "0", "0")})
		r := runTool(t, endpoint, "", "queue", "purge", u, "--dry-run", "--yes", "-o", format)
		if r.err != nil || !strings.Contains(r.out, want) {
			t.Errorf("%v\n%s", r.err, r.out)
		}
	}
}
