package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// For a single node the doctor warns only that no node may fail. It reports a node that does not
// answer.
func TestDoctor(t *testing.T) {
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil)
	p.err.wait(t, `"msg":"ready"`, 1)
	admin := fmt.Sprintf("127.0.0.1:%d", base+1)
	text, code := tool(t, "doctor", "--admin", admin, "-o", "json")
	var found struct {
		Level    string
		Findings []struct{ Check, Level, Advice string }
	}
	if err := json.Unmarshal([]byte(text[:strings.LastIndex(text, "}")+1]), &found); err != nil || len(found.Findings) < 7 {
		t.Fatalf("%v, %+v in\n%s", err, found, text)
	}
	exits := map[string]int{"WARNING": 1, "CRITICAL": 2}
	worst := "WARNING"
	for _, f := range found.Findings {
		want := "OK"
		switch f.Check {
		case "quorum":
			want = "WARNING"
			if !strings.Contains(f.Advice, "add nodes") {
				t.Errorf("the advice is %q", f.Advice)
			}
		case "disk": // of the machine of the test
			if want = f.Level; want == "CRITICAL" {
				worst = want
			}
		}
		if f.Level != want {
			t.Errorf("%s is %s, want %s", f.Check, f.Level, want)
		}
	}
	if found.Level != worst || code != exits[worst] {
		t.Errorf("all in all %s with exit code %d, want %s", found.Level, code, worst)
	}
	if out, _ := tool(t, "doctor", "--admin", admin); !strings.Contains(out, "WARNING - quorum: no node may fail; there is 1 voter") ||
		!strings.Contains(out, "OK - members") {
		t.Errorf("printed was\n%s", out)
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	if out, code := tool(t, "doctor", "--admin", admin); code != 2 ||
		!strings.Contains(out, "CRITICAL - members: http://"+admin+" does not answer") {
		t.Errorf("of a node that is away: exit code %d\n%s", code, out)
	}
}

// The node treats its disk as full and refuses sends. Every command reports that, and none reports
// a healthy cluster.
func TestRefusedSendsAreNamed(t *testing.T) {
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil, "--disk-free-refuse", "99%", "--disk-free-resign", "1KiB")
	p.err.wait(t, `"msg":"ready"`, 1)
	admin, endpoint := fmt.Sprintf("127.0.0.1:%d", base+1), fmt.Sprintf("127.0.0.1:%d", base)
	const why = "sends are refused: the disk with the data directory of n1 has "
	for _, c := range []struct {
		command string
		code    int
		says    []string
	}{
		{"cluster status", 1,
			[]string{"Sends are refused: 1 of 1 voters answer", "Critical: n1: " + why, "accepted again from", "seriatim doctor"}},
		{"doctor", 2, []string{"CRITICAL - sends: n1: " + why, "Receives and deletes still work"}},
		{"check sends", 2, []string{"CRITICAL - sends: n1: " + why}},
		{"check replicas", 0, []string{"OK - replicas"}},
		{"status", 0, []string{why}},
	} {
		out, code := tool(t, append(strings.Fields(c.command), "--admin", admin)...)
		for _, part := range c.says {
			if code != c.code || !strings.Contains(out, part) || strings.Contains(out, "Healthy") {
				t.Errorf("%s: exit code %d, %q is not in\n%s", c.command, code, part, out)
			}
		}
	}
	must(t, "queue", "create", "full.fifo", "--endpoint", endpoint)
	out, code := tool(t, "msg", "send", "full.fifo", "m", "-g", "g", "-d", "d", "--endpoint", endpoint)
	if code != 5 || !strings.Contains(out, "disk-free-refuse") || !strings.Contains(out, "seriatim doctor shows the missing resource") {
		t.Errorf("a send: exit code %d\n%s", code, out)
	}
}

// The doctor reports dead-letter queues by RedrivePolicy, a full deduplication window, and a full
// quota.
func TestLimitsAreNamed(t *testing.T) {
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil)
	p.err.wait(t, `"msg":"ready"`, 1)
	admin, endpoint := fmt.Sprintf("127.0.0.1:%d", base+1), fmt.Sprintf("127.0.0.1:%d", base)
	for _, args := range [][]string{
		{"queue", "create", "failed.fifo"},
		{"queue", "create", "jobs.fifo", "-a", "MaxDeduplicationEntries=1", "-a",
			`RedrivePolicy={"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:failed.fifo","maxReceiveCount":1}`},
		{"msg", "send", "jobs.fifo", "m", "-g", "g", "-d", "d"},
		{"msg", "receive", "jobs.fifo", "--visibility-timeout", "0"},
	} {
		must(t, append(args, "--endpoint", endpoint)...)
	}
	tool(t, "msg", "receive", "jobs.fifo", "--endpoint", endpoint) // moves it
	for _, c := range []struct {
		check string
		code  int
		says  string
	}{
		{"dlq", 1, "WARNING - dlq: 1 message (failed.fifo)"},
		{"dedup", 2, "CRITICAL - dedup: 100 % used (jobs.fifo)"},
	} {
		if out, code := tool(t, "check", c.check, "--admin", admin); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("check %s: exit code %d\n%s", c.check, code, out)
		}
	}
	if out, code := tool(t, "cluster", "status", "--admin", admin); code != 1 || !strings.Contains(out, "Critical (dedup): 1 of 1") ||
		!strings.Contains(out, "the queue jobs.fifo remembers 1 deduplication ids, of 1") {
		t.Errorf("cluster status: exit code %d\n%s", code, out)
	}
}

// A bundle contains the version of the tool.
func TestBundleNamesItsProgram(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	must(t, "debug", "bundle", "--admin", server.URL, "--file", file)
	if all, _ := unpacked(t, file); !strings.HasPrefix(all, "seriatim "+version+", ") {
		t.Errorf("it begins with %.60q", all)
	}
}
