package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

var update = flag.Bool("update", false, "write the outputs in testdata")

// devNode runs dev with one node in this process and returns its endpoint.
func devNode(t *testing.T, settings ...string) string {
	t.Helper()
	base := freeBase(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	outRead, outWrite := io.Pipe()
	out := collect(outRead)
	var words strings.Builder
	code := make(chan int, 1) // the one result
	dir := t.TempDir()        // before the cleanup below: it is removed after the node has ended
	go func() {
		c := run(ctx, append([]string{"dev", "--base-port", strconv.Itoa(base), "--data-dir", dir, "--aws-cooldowns"}, settings...),
			strings.NewReader(""), outWrite, &words)
		_ = outWrite.Close()
		code <- int(c)
	}()
	t.Cleanup(func() {
		stop()
		if c := <-code; c != 0 {
			t.Errorf("dev ended with %d\n%s", c, words.String())
		}
	})
	out.wait(t, "^ready", 1)
	return fmt.Sprintf("http://127.0.0.1:%d", base)
}

// Parts of the output that differ between two runs of the same commands.
var (
	handles    = regexp.MustCompile(`[0-9a-f]{56}`)
	tokens     = regexp.MustCompile(`\b[0-9a-f]{48}\b`)
	uuids      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timestamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z`)
	seconds    = regexp.MustCompile(`(Timestamp["\s:]+|AtMs": |ntilMs": |sinceMs": )\d{10,13}`)
	rates      = regexp.MustCompile(`,\s+"rates": \{[^}]*\}`)
	agents     = regexp.MustCompile(`grpc-go/[0-9.]+`)
	clients    = regexp.MustCompile(`(client at |Held by +|"address": ")127\.0\.0\.1:\d+`)
)

// TestCommands runs the commands of each file in testdata against a node and compares the output.
// A line that begins with $ is a command, and the lines below it are its output. In a command,
// <handle> is the last receipt handle and <token> the last token of a session. -update writes the
// files; commit the difference only if you can explain it.
func TestCommands(t *testing.T) {
	defer goleak.VerifyNone(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, devNode(t), string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func replay(t *testing.T, endpoint, script string) string {
	t.Helper()
	var b strings.Builder
	handle, token := "", ""
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		args := strings.Fields(strings.NewReplacer("<handle>", handle, "<token>", token).Replace(command))
		out, code := tool(t, append(args, "--endpoint", endpoint)...)
		if h := handles.FindString(out); h != "" {
			handle = h
		}
		if t := tokens.FindString(out); t != "" {
			token = t
		}
		out = strings.ReplaceAll(out, endpoint, "<endpoint>")
		out = handles.ReplaceAllString(out, "<handle>")
		out = tokens.ReplaceAllString(out, "<token>")
		out = uuids.ReplaceAllString(out, "<uuid>")
		out = timestamps.ReplaceAllString(out, "<time>")
		out = seconds.ReplaceAllString(out, "$1<time>")
		out = clients.ReplaceAllString(out, "$1<client>")
		out = agents.ReplaceAllString(rates.ReplaceAllString(out, ""), "grpc-go/<version>")
		fmt.Fprintf(&b, "\n$ %s%s[%d]\n", command, out, code)
	}
	return b.String()
}

func TestVersion(t *testing.T) {
	var info versionInfo
	if err := json.Unmarshal([]byte(must(t, "version", "-o", "json")), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version != version || info.Go == "" || info.OS == "" || info.Arch == "" {
		t.Errorf("%+v", info)
	}
	if out := must(t, "version"); !strings.HasPrefix(out, "seriatim "+version+" (go") {
		t.Errorf("%q", out)
	}
}

// full is an output on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// The exit code for a failed output is not that for wrong usage.
func TestVersionOnAFullDisk(t *testing.T) {
	for _, args := range []string{"version", "version -o json", "--version"} {
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), full{}, io.Discard); code != exit.Failed {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

func TestStatus(t *testing.T) {
	endpoint := devNode(t)
	var status map[string]any
	if err := json.Unmarshal([]byte(must(t, "status", "--endpoint", endpoint, "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"nodeId", "nodeName", "clusterId", "role", "term", "leaderId", "leaderName", "commitIndex", "appliedIndex",
		"lastSnapshotIndex", "logTimeMs", "stateHash", "version", "peers",
	} {
		if _, ok := status[key]; !ok {
			t.Errorf("no %s in %v", key, status)
		}
	}
	if status["role"] != "leader" || status["leaderName"] != "node-1" {
		t.Errorf("role %v, leader %v", status["role"], status["leaderName"])
	}
	if out := must(t, "status", "--endpoint", endpoint); !strings.Contains(out, "Role        leader\n") {
		t.Error(out)
	}
}

// TestArgumentsAreNamed gives every command more arguments than it takes.
func TestArgumentsAreNamed(t *testing.T) {
	walk(rootCommand(), func(c *cobra.Command) {
		if c.HasSubCommands() || c.Name() == "help" || c.Args == nil {
			return
		}
		err := c.Args(c, []string{"a", "b", "c", "d"})
		if err != nil && !strings.HasPrefix(err.Error(), "unexpected argument") || err == nil && !strings.Contains(c.Use, "...") {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
	})
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name, args, want string
		code             int
	}{
		{"no command is help", "", "Available Commands:", 0},
		{"help", "msg send --help", "--deduplication-id", 0},
		{"help of dev on loopback endpoints of topics", "dev --help", "--sns-allow-endpoints", 0},
		{"unknown command", "explode", `unknown command "explode"`, 2},
		{"near miss", "quue list", "did you mean 'seriatim queue'?", 2},
		{"near miss below", "queue lsit", "did you mean 'seriatim queue list'?", 2},
		{"near miss offline", "log prnt", "did you mean 'seriatim log print'?", 2},
		{"version", "--version", "seriatim " + version + " (go", 0},
		{"formats are completed", "__complete queue list -o j", "json", 0},
		{"formats of offline commands", "__complete state hash -o j", "json", 0},
		{"formats of backup", "__complete backup create --file b -o j", "json", 0},
		{"how to complete", "--help", "seriatim completion bash --help", 0},
		{"unknown flag", "queue list --colour", "unknown flag: --colour", 2},
		{"near miss of a flag", "queue list --ouptut json", "did you mean --output?", 2},
		{"the beginning of a flag", "msg send q x --dedup 1", "did you mean --deduplication-id?", 2},
		{"more than a flag", "queue list --output-format json", "did you mean --output?", 2},
		{"unknown server flag", "server --data_dir /x", "unknown flag: --data_dir", 78},
		{"near miss of a server flag", "server --data_dir /x", "did you mean --data-dir?", 78},
		{"no hint for one letter", "queue list -x", "run 'seriatim queue list --help'", 2},
		{"bad setting", "server --bootstrap-expect three", "--bootstrap-expect", 78},
		{"missing file", "server --config /does/not/exist.yaml", "/does/not/exist.yaml", 78},
		{"argument of server", "server /data", `unexpected argument "/data"`, 78},
		{"nodes", "dev --nodes 0", "--nodes 0", 2},
		{"ports", "dev --nodes 2 --base-port 65530", "do not exist", 2},
		{"completion", "completion bash", "bash completion", 0},
		{"a setting the node refuses", "server --print-config --body-segment-size 2GiB", "segments", 78},
		{"a key that is not there", "server --print-config --insecure-peers --gossip-key-file /does/not/exist", "/does/not/exist", 78},
		{"a certificate that is not there", "server --print-config --tls-cert /does/not/exist --tls-key /nor/this", "/does/not/exist", 78},
		{"print config", "server --print-config --insecure-peers --node-name n7 --join a:1 --bootstrap-expect 3", `node-name: "n7"`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, code := tool(t, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, tt.code, tt.want, out)
			}
		})
	}
}
