package client

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Every destructive command asks for confirmation, and has the flags --yes and --dry-run.
func TestDestructiveCommandsAsk(t *testing.T) {
	t.Parallel()
	verbs := []string{"purge", "delete", "remove", "replace", "forget", "revoke", "disable", "finalize", "unsubscribe", "redrive", "cancel",
		"clear", "release", "window", "discard"}
	// These commands delete only their own data, or data that comes back.
	free := []string{"msg delete", "msg release", "session release", "dlq cancel"}
	more := []string{"definitions import", "msg move", "queue update", "topic set"} // these ask with some flags or values
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
		if wanted := slices.Contains(verbs, c.Name()) && !slices.Contains(free, path) || slices.Contains(more, path); marked != wanted {
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

// closed is a writer that always fails.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A wrong column or template is an error of usage. A failed write is not.
func TestPrintErrors(t *testing.T) {
	t.Parallel()
	list := func() table { return table{heading: []string{"NAME"}, rows: [][]string{{"a"}}} }
	for _, c := range []struct {
		kind, sort string
		to         io.Writer
		want       exit.Code
	}{
		{"table", "size", io.Discard, exit.Usage}, {"template={{.name.x}}", "", io.Discard, exit.Usage},
		{"table", "", closed{}, exit.Failed}, {"csv", "", closed{}, exit.Failed}, {"name", "", closed{}, exit.Failed},
		{"json", "", closed{}, exit.Failed}, {"jsonl", "", closed{}, exit.Failed}, {"yaml", "", closed{}, exit.Failed},
		{"template={{.name}}", "", closed{}, exit.Failed},
	} {
		format, err := output.Parse(c.kind, nil, c.sort)
		clustertest.Must(t, err)
		err = (&printer{out: c.to, format: format}).print(map[string]string{"name": "a"}, list)
		if got := exit.CodeOf(err); got != c.want {
			t.Errorf("-o %s --sort %q: exit code %d, want %d: %v", c.kind, c.sort, got, c.want, err)
		}
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
