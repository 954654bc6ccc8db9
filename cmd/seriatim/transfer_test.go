package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// at runs a command against a node and fails the test unless it succeeds.
func at(t *testing.T, endpoint string, args ...string) string {
	t.Helper()
	out, words, code := typed(t, "", append(args, "--endpoint", endpoint)...)
	if code != exit.OK {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, out, words)
	}
	return out
}

// refusedAt runs a command that must fail with a code and words.
func refusedAt(t *testing.T, endpoint string, want exit.Code, says string, args ...string) {
	t.Helper()
	out, words, code := typed(t, "", append(args, "--endpoint", endpoint)...)
	if code != want || !strings.Contains(words, says) {
		t.Errorf("%q: exit code %d, want %d and %q\n%s%s", args, code, want, says, out, words)
	}
}

// exported returns what an import keeps of each line of a file, by group.
func exported(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kept, err := json.Marshal([]any{m["body"], m["deduplicationId"], m["attributes"], m["traceHeader"]})
		if err != nil {
			t.Fatal(err)
		}
		group, _ := m["groupId"].(string)
		groups[group] = append(groups[group], string(kept))
	}
	return groups
}

// A body of any bytes comes back as it was sent, also after an export and an import.
func TestBinaryBody(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint, dir := devNode(t), t.TempDir()
	at(t, endpoint, "queue", "create", "a.fifo")
	at(t, endpoint, "queue", "create", "b.fifo")
	body, file := filepath.Join(dir, "body"), filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(body, []byte("\x89PNG\x00\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	at(t, endpoint, "msg", "send", "a.fifo", "--file", body, "--group", "", "--deduplication-id", "a b")
	at(t, endpoint, "msg", "export", "a.fifo", file)
	at(t, endpoint, "msg", "import", "b.fifo", file)
	if out := at(t, endpoint, "msg", "find", "b.fifo"); !strings.Contains(out, "6 bytes: 89 50 4e 47 00 ff") {
		t.Errorf("%s", out)
	}
	out := at(t, endpoint, "msg", "receive", "b.fifo", "-o", "json")
	var got struct {
		Messages []struct {
			Body, BodyEncoding string
			Attributes         map[string]string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Messages) != 1 {
		t.Fatalf("%s: %v", out, err)
	}
	if m := got.Messages[0]; m.Body != "iVBORwD/" || m.BodyEncoding != "base64" || m.Attributes["MessageDeduplicationId"] != "a b" {
		t.Errorf("%s", out)
	}
}

// A queue that was exported and imported has the same messages, in the same order in each group. An
// interrupted export continues behind its last complete line, and an import behind the lines that
// were answered.
func TestExportAndImport(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint, dir := devNode(t), t.TempDir()
	file, copied := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for _, name := range []string{"a.fifo", "b.fifo", "standard"} {
		at(t, endpoint, "queue", "create", name)
	}
	lines := filepath.Join(dir, "lines.txt")
	var text strings.Builder
	for i := range 700 {
		fmt.Fprintf(&text, "<script> \"%d\" \u202e $i\n", i)
	}
	if err := os.WriteFile(lines, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"g1", "g2"} {
		out := at(t, endpoint, "msg", "send", "a.fifo", "--file", lines, "--lines", "-g", group, "-d", group+"-$i", "-a", "kind=x",
			"-a", "n:Number.int=5", "-a", "raw:Binary=\x00\x01", "--trace-header", "Root=1-5759e988-bd862e3fe1be46a994272793", "-o", "json")
		if !strings.Contains(out, `"sent": 700`) || !strings.Contains(out, `"duplicates": 0`) {
			t.Error(out)
		}
	}
	out := at(t, endpoint, "msg", "export", "a.fifo", file, "-o", "json")
	if !strings.Contains(out, `"exported": 1400`) {
		t.Error(out)
	}
	at(t, endpoint, "msg", "import", "b.fifo", file)
	at(t, endpoint, "msg", "export", "b.fifo", copied)
	want := exported(t, file)
	if diff := cmp.Diff(want, exported(t, copied)); diff != "" || len(want["g1"]) != 700 {
		t.Errorf("%d messages in g1\n%s", len(want["g1"]), diff)
	}
	if out := at(t, endpoint, "msg", "import", "b.fifo", file, "-o", "json"); !strings.Contains(out, `"duplicates": 1400`) {
		t.Error(out)
	}
	at(t, endpoint, "msg", "import", "standard", file)
	if out := at(t, endpoint, "msg", "export", "standard"); strings.Count(out, "\n") != 1400 {
		t.Errorf("%d lines of the standard queue", strings.Count(out, "\n"))
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	at(t, endpoint, "msg", "export", "a.fifo", copied, "--continue")
	if again, err := os.ReadFile(copied); err != nil || string(again) != string(whole) {
		t.Errorf("the continued export differs: %v", err)
	}
	refusedAt(t, endpoint, exit.Usage, "add --continue", "msg", "export", "a.fifo", file)
	refusedAt(t, endpoint, exit.Usage, "no such file", "msg", "import", "b.fifo", file+".missing")
	refusedAt(t, endpoint, exit.Usage, "is it the file of an export?", "msg", "export", "a.fifo", lines, "--continue")
	refusedAt(t, endpoint, exit.NotFound, "QueueDoesNotExist", "msg", "export", "missing.fifo", file+".new")
	refusedAt(t, endpoint, exit.Usage, "no sequence number", "msg", "export", "a.fifo", "--from", "first")
	refusedAt(t, endpoint, exit.Usage, "line 1: not a message", "msg", "import", "b.fifo", lines)
	if _, err := os.Stat(file + ".new"); err == nil {
		t.Error("a failed export left a file")
	}
}

// An import that ends early continues with the first line that was not answered, and sends the lines
// after a refused one.
func TestImportContinues(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint, file := devNode(t), filepath.Join(t.TempDir(), "a.jsonl")
	at(t, endpoint, "queue", "create", "plain")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first = `{"body":"one"}` + "\n" + `{"body":""}` + "\n" + `{"body":"two"}` + "\n"
	write(first + "broken\n" + `{"body":"three"}`)
	refusedAt(t, endpoint, exit.Usage, "line 4: not a message", "msg", "import", "plain", file)
	other := devNode(t, "--region", "eu-west-1")
	at(t, other, "queue", "create", "plain")
	refusedAt(t, other, exit.Usage, "it is about the queue arn:aws:sqs:us-east-1:000000000000:plain", "msg", "import", "plain", file)
	write(strings.Replace(first, "one", "new", 1))
	refusedAt(t, endpoint, exit.Usage, "the lines up to line 3 are sent", "msg", "import", "plain", file)
	write(first + `{"body":"corrected"}` + "\n" + `{"body":"three"}`)
	_, words, code := typed(t, "", "msg", "import", "plain", file, "--endpoint", endpoint)
	if code != exit.OK || !strings.Contains(words, "continuing after line 3") {
		t.Errorf("exit code %d\n%s", code, words)
	}
	var bodies []string
	for _, lines := range exported(t, exportOf(t, endpoint, "plain")) {
		bodies = append(bodies, lines...)
	}
	slices.Sort(bodies)
	want := []string{`["corrected",null,null,null]`, `["one",null,null,null]`, `["three",null,null,null]`, `["two",null,null,null]`}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Error(diff)
	}
	if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// An import prints each line that the queue refused.
func TestImportPrintsRefusals(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	at(t, endpoint, "queue", "create", "plain")
	_, words, code := typed(t, strings.Repeat(`{"body":""}`+"\n", 30), "msg", "import", "plain", "--endpoint", endpoint)
	if code != exit.Partial || strings.Count(words, "not sent: line ") != 30 || !strings.Contains(words, "not sent: line 30: ") {
		t.Errorf("exit code %d\n%s", code, words)
	}
}

// exportOf exports a queue to a new file.
func exportOf(t *testing.T, endpoint, queue string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "export.jsonl")
	at(t, endpoint, "msg", "export", queue, file)
	return file
}

// Lines with one deduplication id are all imported if each gets an id of its own.
func TestImportWithNewIDs(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	at(t, endpoint, "queue", "create", "a.fifo")
	const lines = `{"body":"1","groupId":"g","deduplicationId":"d"}` + "\n" + `{"body":"2","groupId":"g","deduplicationId":"d"}` + "\n"
	for _, c := range []struct{ flag, want string }{
		{"--new-deduplication-ids=false", `"sent": 1`}, {"--new-deduplication-ids", `"sent": 2`},
		{"--new-deduplication-ids", `"duplicates": 2`},
	} {
		out, words, code := typed(t, lines, "msg", "import", "a.fifo", c.flag, "-o", "json", "--endpoint", endpoint)
		if code != exit.OK || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, want %s\n%s%s", c.flag, code, c.want, out, words)
		}
	}
}

// msg send --count numbers messages, and reports progress as JSON.
func TestSendMany(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	at(t, endpoint, "queue", "create", "a.fifo")
	out := at(t, endpoint, "msg", "send", "a.fifo", "body $i", "--count", "3", "-g", "g$i", "-d", "d$i", "-o", "json")
	if !strings.Contains(out, `"sent": 3`) {
		t.Error(out)
	}
	got := exported(t, exportOf(t, endpoint, "a.fifo"))
	want := map[string][]string{"g1": {`["body 1","d1",null,null]`}, "g2": {`["body 2","d2",null,null]`}, "g3": {`["body 3","d3",null,null]`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, words, code := typed(t, "", "msg", "send", "a.fifo", "x", "--count", "2", "-d", "no-group", "--endpoint", endpoint)
	if code != exit.Partial || !strings.Contains(words, "message 1: MissingParameter") {
		t.Errorf("exit code %d\n%s", code, words)
	}
	if _, words, code := typed(t, "from stdin", "msg", "send", "a.fifo", "--file", "-", "-g", "g", "-d", "d", "--endpoint",
		endpoint); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, words)
	}
	if out := at(t, endpoint, "msg", "export", "a.fifo"); !strings.Contains(out, `"body":"from stdin"`) {
		t.Error(out)
	}
}
