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

// The doctor finds that one node survives nothing, and nothing else; and that a node does
// not answer.
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
			if !strings.Contains(f.Advice, "add two nodes") || !strings.Contains(f.Advice, "operations.md#growing") {
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
	if out, _ := tool(t, "doctor", "--admin", admin); !strings.Contains(out, "WARNING - quorum: no node may fail (Healthy: ") || !strings.Contains(out, "OK - ready") {
		t.Errorf("printed was\n%s", out)
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	if out, code := tool(t, "doctor", "--admin", admin); code != 2 || !strings.Contains(out, "CRITICAL - ready: http://"+admin+" does not answer") {
		t.Errorf("of a node that is away: exit code %d\n%s", code, out)
	}
}

// A bundle says which program collected it.
func TestBundleNamesItsProgram(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	must(t, "debug", "bundle", "--admin", server.URL, "--file", file)
	if all, _ := unpacked(t, file); !strings.HasPrefix(all, "seriatim "+version+", ") {
		t.Errorf("it begins with %.60q", all)
	}
}
