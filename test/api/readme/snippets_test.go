package readme

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// patience bounds a snippet; the Go one is compiled first.
const patience = 5 * time.Minute

// TestSnippets runs what README tells its readers to type, against a cluster.
// Only the address is another one than in the text.
func TestSnippets(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bin := t.TempDir()
	binary, err := harness.Build(ctx, bin)
	if err != nil {
		t.Fatal(err)
	}
	cluster := harness.New(t, harness.Options{Binary: binary})
	here := func(text string) string {
		return strings.ReplaceAll(text, "http://127.0.0.1:9324", cluster.Endpoint())
	}

	t.Run("cli", func(t *testing.T) {
		script := "set -e\nexport SERIATIM_ENDPOINT=" + cluster.Endpoint() + " SERIATIM_ADMIN=" + cluster.Nodes[0].Admin + "\n" +
			strings.ReplaceAll(snippet(t, "cli"), "bin/seriatim", binary)
		out := runSnippet(ctx, t, "sh", "-c", script)
		if n := strings.Count(out, `{"order": 17}`); n != 2 { // peek, receive
			t.Errorf("the body is shown %d times, want 2\n%s", n, out)
		}
	})
	t.Run("go", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(here(snippet(t, "go"))), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := runSnippet(ctx, t, "go", "run", file); out != "hello\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("boto3", func(t *testing.T) {
		if exec.CommandContext(ctx, "python3", "-c", "import boto3").Run() != nil {
			t.Skip("no Python with boto3 here; make conformance installs one and runs this test with it")
		}
		if out := runSnippet(ctx, t, "python3", "-W", "error", "-c", here(snippet(t, "boto3"))); out != "hello\n" {
			t.Errorf("printed %q", out)
		}
	})
}

func runSnippet(ctx context.Context, t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(ctx, name, args...)
	var words strings.Builder
	command.Stderr = &words
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, words.String())
	}
	return string(out)
}
