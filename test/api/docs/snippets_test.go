package docs

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

// snippetTimeout bounds a snippet; the Go one is compiled first.
const snippetTimeout = 5 * time.Minute

// snippet returns the fenced block of a document after a comment with its name.
func snippet(t *testing.T, document, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, document), "<!-- "+name+" -->\n```")
	if !found {
		t.Fatalf("%s has no block after %q", document, name)
	}
	_, rest, _ = strings.Cut(rest, "\n") // the language
	block, _, ended := strings.Cut(rest, "```\n")
	if !ended {
		t.Fatalf("the block %q of %s does not end", name, document)
	}
	return block
}

// TestSnippets runs the commands of the documents against a cluster. Only addresses, directories
// and amounts are changed.
func TestSnippets(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), snippetTimeout)
	defer cancel()
	bin := t.TempDir()
	binary, err := harness.Build(ctx, bin)
	harness.Must(t, err)
	authority, err := harness.NewAuthority(binary, filepath.Join(t.TempDir(), "certs"))
	harness.Must(t, err)
	cluster := harness.New(t, harness.Options{Binary: binary, Authority: authority})
	here := func(text string) string {
		return strings.ReplaceAll(text, "http://127.0.0.1:9324", cluster.Endpoint())
	}
	shell := func(t *testing.T, document, name string, replace ...string) string {
		script := "set -e\ncd " + t.TempDir() + "\nexport SERIATIM_ENDPOINT=" + cluster.Endpoint() + " SERIATIM_ADMIN=" +
			cluster.Nodes[0].Admin + "\n" +
			"PATH=" + filepath.Dir(binary) + ":$PATH\n" +
			strings.NewReplacer(append(replace, "bin/seriatim", binary)...).Replace(snippet(t, document, name))
		return runSnippet(ctx, t, "sh", "-c", script)
	}
	t.Run("cli", func(t *testing.T) {
		out := shell(t, "README.md", "snippet: cli")
		if n := strings.Count(out, "order 17"); n != 1 {
			t.Errorf("the body is shown %d times, want 1\n%s", n, out)
		}
		runSnippet(ctx, t, binary, "queue", "delete", "orders.fifo", "--yes", "--endpoint", cluster.Endpoint())
	})
	t.Run("go", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.go")
		harness.Must(t, os.WriteFile(file, []byte(here(snippet(t, "docs/how-to/go.md", "snippet: go"))), 0o600))
		if out := runSnippet(ctx, t, "go", "run", file); out != "hello\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("grpc", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.go")
		address := strings.TrimPrefix(cluster.Endpoint(), "http://")
		program := strings.ReplaceAll(snippet(t, "docs/how-to/grpc.md", "snippet: grpc"), "127.0.0.1:9324", address)
		harness.Must(t, os.WriteFile(file, []byte(program), 0o600))
		if out := runSnippet(ctx, t, "go", "run", file); out != "hello\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("topics", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.go")
		harness.Must(t, os.WriteFile(file, []byte(here(snippet(t, "docs/reference/topics.md", "snippet: topics"))), 0o600))
		if out := runSnippet(ctx, t, "go", "run", file); out != "billing.fifo order 17\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("boto3", func(t *testing.T) {
		if exec.CommandContext(ctx, "python3", "-c", "import boto3").Run() != nil {
			t.Skip("no Python with boto3 here; make conformance installs one and runs this test with it")
		}
		if out := runSnippet(ctx, t, "python3", "-W", "error", "-c", here(snippet(t, "README.md", "snippet: boto3"))); out != "hello\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("first queue", func(t *testing.T) {
		const page = "docs/tutorials/first-queue.md"
		shell(t, page, "run: first queue, send")
		if out := shell(t, page, "run: first queue, receive"); strings.Count(out, "order 17") != 2 || strings.Count(out, "order 18") != 1 {
			t.Errorf("peek shows both orders, receive the first one:\n%s", out)
		}
		shell(t, page, "run: first queue, delete", "--wait 20", "--wait 1") // the group waits for order 17
		runSnippet(ctx, t, binary, "queue", "delete", "orders.fifo", "--yes", "--endpoint", cluster.Endpoint())
	})
	t.Run("first topic", func(t *testing.T) {
		const page = "docs/tutorials/first-topic.md"
		shell(t, page, "run: first topic, subscribe")
		shell(t, page, "run: first topic, publish")
		if out := shell(t, page, "run: first topic, receive"); strings.Count(out, "sale 1") != 1 || strings.Count(out, "sale 2") != 2 {
			t.Errorf("billing has both sales, fraud the second one:\n%s", out)
		}
	})
	t.Run("first consumer", func(t *testing.T) {
		const page = "docs/tutorials/first-consumer.md"
		consumed := make(chan string, 1)
		go func() { consumed <- shell(t, page, "run: first consumer, consume", "seq 20", "seq 3") }()
		eventually(t, func() bool {
			return exec.CommandContext(ctx, binary, "queue", "show", "orders.fifo", "--endpoint", cluster.Endpoint()).Run() == nil
		})
		shell(t, page, "run: first consumer, send", "seq 20", "seq 3", "sleep 0.5", "true")
		out := <-consumed
		if one, two, three := strings.Index(out, "order 1"), strings.Index(out, "order 2"), strings.Index(out, "order 3"); one < 0 ||
			two < one || three < two {
			t.Errorf("not three orders in order:\n%s", out)
		}
	})
	t.Run("python", func(t *testing.T) {
		if exec.CommandContext(ctx, "python3", "-c", "import boto3").Run() != nil {
			t.Skip("no Python with boto3 here; make conformance installs one and runs this test with it")
		}
		t.Setenv("AWS_ENDPOINT_URL", cluster.Endpoint())
		t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "dev")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "dev")
		if out := runSnippet(ctx, t, "python3", "-W", "error", "-c",
			snippet(t, "docs/how-to/python.md", "snippet: python")); out != "order 1\norder 2\norder 3\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("sessions", func(t *testing.T) {
		out := shell(t, "docs/explanation/sessions.md", "run: sessions")
		for _, want := range []string{"A receiver has locked the group as a session", "State            stored", "Window        7d"} {
			if !strings.Contains(out, want) {
				t.Errorf("does not print %q:\n%s", want, out)
			}
		}
	})
	t.Run("status", func(t *testing.T) {
		// If the machine's disk is nearly full, the command exits with 1.
		out := shell(t, "docs/operate/cluster.md", "run: status", "cluster status", "cluster status || true")
		if !strings.Contains(out, "Healthy") && !strings.Contains(out, "Critical (disk)") {
			t.Errorf("no word about health:\n%s", out)
		}
	})
	t.Run("measuring", func(t *testing.T) {
		shell(t, "docs/operate/measuring.md", "run: bench", "--clients", "--duration 300ms --clients", "--repeat",
			"--duration 300ms --repeat", "--clients 1000", "--duration 300ms --clients 50")
	})
	t.Run("backup", func(t *testing.T) { shell(t, "docs/operate/backup.md", "run: backup") })
	t.Run("upgrade", func(t *testing.T) { shell(t, "docs/operate/upgrade.md", "run: upgrade") })
	t.Run("metrics", func(t *testing.T) {
		runSnippet(ctx, t, binary, "account", "create", "111111111111", "--queues", "1", "--admin", cluster.Nodes[0].Admin)
		checkMetrics(t, cluster)
	})
	t.Run("a stopped node", func(t *testing.T) {
		node := cluster.Nodes[2]
		harness.Must(t, node.Stop(time.Minute))
		shell(t, "docs/operate/backup.md", "run: offline", "/var/lib/seriatim", node.DataDir)
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(snippetTimeout); !holds(); time.Sleep(100 * time.Millisecond) { // a process offers no event to wait for
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
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
