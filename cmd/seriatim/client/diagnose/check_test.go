package diagnose

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
)

// canned holds answers by address and path. A path without a query matches any query.
type canned map[string]string

func (c canned) Addresses() []string { return []string{"n1", "n2"} }

func (c canned) Get(_ context.Context, address, path string) (int, []byte, error) {
	text, known := c[address+path]
	if !known {
		return 0, nil, errors.New("refused")
	}
	return 200, []byte(text), nil
}

// saying returns the document about two members with these findings.
func saying(t *testing.T, findings ...health.Finding) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"members": []Member{{Name: "n1", Asked: true}, {Name: "n2", Asked: true}}, "findings": findings,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func at(node string, f health.Finding) health.Finding {
	f.Node = node
	return f
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		check string
		found []health.Finding
		level health.Level
		lines []string
	}{
		{"quorum", []health.Finding{health.Found("quorum", "", 1, "Healthy: 3 of 3")}, health.OK,
			[]string{"OK - quorum: 1 node may fail; Healthy: 3 of 3 | quorum=1;1;0"}},
		{"quorum", []health.Finding{health.Found("quorum", "", 0, "Degraded: 2 of 3")}, health.Warning,
			[]string{"WARNING - quorum: no node may fail; Degraded: 2 of 3 | quorum=0;1;0"}},
		{"quorum", []health.Finding{health.Found("quorum", "", -1, "No leader: 1 of 3")}, health.Critical,
			[]string{"CRITICAL - quorum: no quorum; No leader: 1 of 3 | quorum=-1;1;0"}},
		{
			"disk", []health.Finding{at("n1", health.Found("disk", "", 50, "half")), at("n2", health.Found("disk", "", 15, "15 of 100"))},
			health.Warning,
			[]string{"WARNING - disk: 15 % free (n2); 15 of 100 | disk=15;20;10"},
		},
		{
			"disk", []health.Finding{at("n1", health.Found("disk", "", 12, "12 of 100")),
				at("n2", health.Found("disk", "", 1, "1 of 100"))}, health.Critical,
			[]string{"CRITICAL - disk: 1 % free (n2); 1 of 100 | disk=1;20;10",
				"WARNING - disk: 12 % free (n1); 12 of 100 | disk=12;20;10"},
		},
		{"disk", []health.Finding{at("n1", health.Found("disk", "", 50, "half"))}, health.OK,
			[]string{"OK - disk: 50 % free (n1) | disk=50;20;10"}},
		{"certs", nil, health.OK, []string{"OK - certs: no port has a certificate"}},
		{"certs", []health.Finding{at("n1", health.Found("certs", "client port", 1, "it ends"))}, health.Critical,
			[]string{"CRITICAL - certs: 1 day left (n1: client port); it ends | certs=1;14;3"}},
		{"clock", []health.Finding{at("n1", health.Found("clock", "n2", 1, "it is off"))}, health.OK,
			[]string{"OK - clock: 1 second apart (n1: n2) | clock=1;1;10"}},
		{"dlq", []health.Finding{health.Found("dlq", "failed.fifo", 1, "1 message, 1 in failed.fifo")}, health.Warning,
			[]string{"WARNING - dlq: 1 message (failed.fifo); 1 message, 1 in failed.fifo | dlq=1;0;1000"}},
		{
			"sends", []health.Finding{at("n1", health.Found("sends", "", 0, "takes sends")),
				at("n2", health.Found("sends", "", 2, "sends are refused: full"))}, health.Critical,
			[]string{"CRITICAL - sends: n2: sends are refused: full | sends=2;0;1"},
		},
		{"sends", []health.Finding{at("n1", health.Found("sends", "", 0, "takes sends"))}, health.OK,
			[]string{"OK - sends: all members are healthy | sends=0;0;1"}},
		// The newest backup of all nodes counts.
		{"backup", []health.Finding{at("n1", health.Found("backup", "", 90, "old")), at("n2", health.Found("backup", "", 2, "new"))},
			health.OK, []string{"OK - backup: 2 hours old (n2) | backup=2;26;50"}},
	} {
		check, _ := health.Named(tc.check)
		got := Check(t.Context(), canned{"n2" + membersPath: saying(t, tc.found...)}, check, check.Warn, check.Crit)
		var lines []string
		for _, o := range got {
			lines = append(lines, o.Line())
		}
		if got[0].Level != tc.level || !slices.Equal(lines, tc.lines) {
			t.Errorf("%s: %q, want %q", tc.check, lines, tc.lines)
		}
	}
}

// The thresholds of the flags replace those of the check.
func TestThresholds(t *testing.T) {
	t.Parallel()
	disk, _ := health.Named("disk")
	got := Check(t.Context(), canned{"n1" + membersPath: saying(t, at("n1", health.Found("disk", "", 50, "half")))}, disk, 60, 55)
	if got[0].Level != health.Critical {
		t.Errorf("%s", got[0].Line())
	}
}

// The outcome names a member that does not answer, and its level is unknown.
func TestSilentMembers(t *testing.T) {
	t.Parallel()
	text := strings.Replace(saying(t, at("n1", health.Found("disk", "", 50, "half"))), `"Name":"n2","Admin":"","Asked":true`, `"Name":"n2"`,
		1)
	for check, want := range map[string]string{
		"disk":  "UNKNOWN - disk: 50 % free (n1); unknown: n2 | disk=50;20;10",
		"certs": "UNKNOWN - certs: no port has a certificate; unknown: n2",
		"dlq":   "OK - dlq: no RedrivePolicy names a queue",
	} {
		c, _ := health.Named(check)
		if got := Check(t.Context(), canned{"n1" + membersPath: text}, c, c.Warn, c.Crit); got[0].Line() != want {
			t.Errorf("%s, want %s", got[0].Line(), want)
		}
	}
}

// Without a leader the view of one node counts. Without any answer the level is unknown.
func TestWithoutLeader(t *testing.T) {
	t.Parallel()
	quorum, _ := health.Named("quorum")
	local := canned{"n2" + membersPath + "?local=true": saying(t, health.Found("quorum", "", -1, "No leader: 1 of 3"))}
	if got := Check(t.Context(), local, quorum, 1, 0); got[0].Level != health.Critical ||
		!strings.Contains(got[0].Line(), "no quorum; No leader: 1 of 3") {
		t.Errorf("%s", got[0].Line())
	}
	if got := Check(t.Context(), canned{}, quorum, 1,
		0); got[0].Line() != "UNKNOWN - quorum: no node answers; is --admin right? (refused)" {
		t.Errorf("%s", got[0].Line())
	}
	if got := Check(t.Context(), canned{"n1" + membersPath: "?"}, quorum, 1, 0); got[0].Level != health.Unknown {
		t.Errorf("%s", got[0].Line())
	}
}

// refusing answers every request with a Refusal.
type refusing struct{ body string }

func (refusing) Addresses() []string { return []string{"n1"} }

func (r refusing) Get(context.Context, string, string) (int, []byte, error) {
	return 401, []byte(r.body), nil
}

// A line contains the error text of a Refusal, not its JSON.
func TestRefusalsAreOneLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"{\n  \"error\": \"this port wants a token\\nof the cluster\"\n}\n": "this port wants a token of the cluster",
		"<html>\n  <body>no\r\n</body>":                                     "<html> <body>no </body>",
		`{"message":"no"}`:                                                  `{"message":"no"}`,
		`{"error":""}`:                                                      `{"error":""}`,
		strings.Repeat("x", 499) + "éx":                                     strings.Repeat("x", 499) + "...",
	} {
		for _, c := range health.Checks() {
			got := Check(t.Context(), refusing{body}, c, c.Warn, c.Crit)
			if line := "UNKNOWN - " + c.Name + ": n1 answers 401: " + want; got[0].Line() != line || got[0].Level != health.Unknown {
				t.Errorf("%q, want %q", got[0].Line(), line)
			}
		}
		missing, _ := WriteBundle(t.Context(), io.Discard, refusing{body}, "", time.Now())
		if len(missing) == 0 || missing[0] != "status.json of n1: 401: "+want {
			t.Errorf("missing is %q", missing)
		}
	}
}

// A bundle contains members that the user did not name, and lists the unreachable ones.
func TestBundleOfAllMembers(t *testing.T) {
	t.Parallel()
	members := `{"members":[{"nodeId":"a","name":"n1","admin":"n1"},{"nodeId":"b","name":"n3","admin":"n3"},{"nodeId":"c","name":"n4","admin":"n4"},{"nodeId":"d","name":"n5"},{"nodeId":"e","name":"n6","admin":"n1"}]}`
	nodes := canned{"n1" + statusPath: `{"nodeId":"a"}`, "n1" + membersPath: members, "n3" + statusPath: `{"nodeId":"b"}`,
		"n3/metrics": "of n3"}
	var out bytes.Buffer
	missing, err := WriteBundle(t.Context(), &out, nodes, "", time.Now())
	text := strings.Join(missing, "\n")
	for _, want := range []string{"all files of n4: refused", "all files of n5: it does not announce",
		"all files of n6: n1 is the admin port of a", "status.json of n2: refused"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, %q is not in\n%s", err, want, text)
		}
	}
	packed, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	archive, found := tar.NewReader(packed), false
	for {
		head, err := archive.Next()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(archive)
		found = found || head.Name == "seriatim-debug/node-3/metrics.txt" && string(content) == "of n3"
	}
	if !found {
		t.Error("the metrics of the third member are not in the bundle")
	}
}

// An interrupted bundle is an error, not a bundle with missing parts.
func TestBundleInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	missing, err := WriteBundle(ctx, io.Discard, canned{"n1/v1/status": "{}"}, "", time.Now())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, missing %v", err, missing)
	}
}

// The level of an interrupted check is unknown, even with an answer.
func TestInterruptedCheck(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, check := range health.Checks() {
		if got := Check(ctx, canned{"n1" + membersPath: saying(t)}, check, check.Warn, check.Crit); got[0].Level != health.Unknown ||
			got[0].Note != "interrupted" {
			t.Errorf("%s", got[0].Line())
		}
	}
}
