package diagnose

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// canned answers by address and path.
type canned map[string]string

func (c canned) Addresses() []string { return []string{"n1", "n2"} }

func (c canned) Get(_ context.Context, address, path string) (int, []byte, error) {
	path, _, _ = strings.Cut(path, "?")
	text, known := c[address+path]
	if !known {
		return 0, nil, errors.New("refused")
	}
	return 200, []byte(text), nil
}

func TestChecks(t *testing.T) {
	t.Parallel()
	const now = 1_700_000_000
	cases := []struct {
		check   string
		answers canned
		level   Level
		line    string
	}{
		{"quorum", canned{"n2/v1/cluster/members": `{"summary":"Healthy: 3 of 3","mayFail":1,"voters":3}`}, OK, "OK - quorum: 1 node may fail (Healthy: 3 of 3) | quorum=1;1;0"},
		{"quorum", canned{"n1/v1/cluster/members": `{"summary":"Degraded: 2 of 3","mayFail":0,"voters":3}`}, Warning, "WARNING - quorum: no node may fail (Degraded: 2 of 3) | quorum=0;1;0"},
		{"quorum", canned{"n1/v1/cluster/members": `{"summary":"No leader: 1 of 3","mayFail":0,"voters":3}`}, Critical, "CRITICAL - quorum: -1 nodes"},
		{"quorum", canned{}, Unknown, "UNKNOWN - quorum: no node answers"},
		{"quorum", canned{"n1/v1/cluster/members": `?`}, Unknown, "UNKNOWN - quorum: invalid character"},
		{"disk", canned{"n1/metrics": "seriatim_disk_free_bytes 50\nseriatim_disk_total_bytes 100\n", "n2/metrics": "seriatim_disk_free_bytes 15\nseriatim_disk_total_bytes 100\n"}, Warning, "WARNING - disk: 15 % free (n2)"},
		{"disk", canned{"n1/metrics": "seriatim_disk_free_bytes 5e1\nseriatim_disk_total_bytes 100\n"}, OK, "OK - disk: 50 % free (n1)"},
		{"disk", canned{"n1/metrics": "seriatim_disk_free_bytes 1\nseriatim_disk_total_bytes 100\n"}, Critical, "CRITICAL - disk: 1 % free (n1)"},
		{"certs", canned{"n1/metrics": ""}, OK, "OK - certs: no port has a certificate"},
		{"certs", canned{"n1/metrics": "seriatim_tls_cert_expiry_timestamp_seconds{port=\"client\"} 1700172800\nseriatim_tls_cert_expiry_timestamp_seconds{port=\"peer\"} 1800172800\n"}, Critical, "CRITICAL - certs: 2 days left (client port of n1)"},
		{"clock", canned{"n1/metrics": "seriatim_clock_skew_seconds{peer=\"n2\"} -3\n", "n2/metrics": "seriatim_clock_skew_seconds{peer=\"n1\"} 2\n"}, Warning, "WARNING - clock: 3 seconds apart (n2, says n1)"},
		{"lag", canned{"n1/metrics": "# HELP x y\nseriatim_raft_peer_lag_entries{peer=\"n2\"} 0\n"}, OK, "OK - lag: 0 entries behind (n2, says n1)"},
		{"dlq", canned{"n1/v1/queues": `{"queues":[{"name":"orders"},{"name":"orders-dlq","visible":2,"inFlight":1,"delayed":0},{"name":"dead","visible":1}]}`}, Warning, "WARNING - dlq: 4 messages (most in orders-dlq)"},
		{"quorum", canned{"n1/v1/cluster/members": `{"summary":"Healthy: 5 of 5","mayFail":2,"voters":5}`}, OK, "OK - quorum: 2 nodes may fail (Healthy: 5 of 5)"},
		{"disk", canned{"n1/metrics": "seriatim_disk_free_bytes 0\nseriatim_disk_total_bytes 100\n"}, Critical, "CRITICAL - disk: 0 % free (n1)"},
		{"certs", canned{"n1/metrics": "seriatim_tls_cert_expiry_timestamp_seconds{port=\"client\"} 1700086400\n"}, Critical, "CRITICAL - certs: 1 day left (client port of n1)"},
		{"clock", canned{"n1/metrics": "seriatim_clock_skew_seconds{peer=\"n2\"} 1\n"}, OK, "OK - clock: 1 second apart (n2, says n1)"},
		{"lag", canned{"n1/metrics": "seriatim_raft_peer_lag_entries{peer=\"n2\"} 1\n"}, OK, "OK - lag: 1 entry behind (n2, says n1)"},
		{"dlq", canned{"n1/v1/queues": `{"queues":[{"name":"dead","visible":1}]}`}, Warning, "WARNING - dlq: 1 message (most in dead)"},
		{"dlq", canned{"n1/v1/queues": `{"queues":[{"name":"orders","visible":5}]}`}, OK, "OK - dlq: no queue has dlq or dead in its name"},
	}
	for _, tc := range cases {
		for _, check := range Checks() {
			if check.Name != tc.check {
				continue
			}
			outcome, level := check.Run(t.Context(), tc.answers, time.Unix(now, 0), check.Warn, check.Crit)
			if level != tc.level || !strings.HasPrefix(outcome.Line(), tc.line) {
				t.Errorf("%s of %v: %s, want %s", tc.check, tc.answers, outcome.Line(), tc.line)
			}
		}
	}
}

// A node that was named and does not answer is named in the line: what holds for the others says
// nothing of it.
func TestSilentNodes(t *testing.T) {
	t.Parallel()
	nodes := canned{"n1/metrics": "seriatim_disk_free_bytes 50\nseriatim_disk_total_bytes 100\n"}
	for check, want := range map[string]string{
		"disk":  "OK - disk: 50 % free (n1); no answer from n2 | disk=50;20;10",
		"certs": "OK - certs: no port has a certificate; no answer from n2",
	} {
		i := slices.IndexFunc(Checks(), func(c Check) bool { return c.Name == check })
		c := Checks()[i]
		outcome, level := c.Run(t.Context(), nodes, time.Now(), c.Warn, c.Crit)
		if outcome.Line() != want || level != OK || !strings.Contains(outcome.Note, "no answer from n2") {
			t.Errorf("%s, note %q, want %s", outcome.Line(), outcome.Note, want)
		}
	}
}

// refusing answers everything with a refusal, as the admin port writes it.
type refusing struct{ body string }

func (refusing) Addresses() []string { return []string{"n1"} }

func (r refusing) Get(context.Context, string, string) (int, []byte, error) {
	return 401, []byte(r.body), nil
}

// Why a node refuses to answer is part of a line, so it is its sentence and not the document around it.
func TestRefusalsAreOneLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"{\n  \"error\": \"this port wants a token\\nof the cluster\"\n}\n": "this port wants a token of the cluster",
		"<html>\n  <body>no\r\n</body>":                                     "<html> <body>no </body>",
		`{"message":"no"}`:                                                  `{"message":"no"}`,
		`{"error":""}`:                                                      `{"error":""}`,
		strings.Repeat("x", 499) + "éx":                                     strings.Repeat("x", 499) + "...",
	} {
		for _, c := range Checks() {
			outcome, level := c.Run(t.Context(), refusing{body}, time.Now(), c.Warn, c.Crit)
			if line := "UNKNOWN - " + c.Name + ": n1 answers 401: " + want; outcome.Line() != line || level != Unknown {
				t.Errorf("%q, want %q", outcome.Line(), line)
			}
		}
		if o := readiness(t.Context(), refusing{body}, "n1"); o.Line() != "CRITICAL - ready: n1: "+want {
			t.Errorf("%q, want %q", o.Line(), want)
		}
		missing, _ := WriteBundle(t.Context(), io.Discard, refusing{body}, "", time.Now())
		if len(missing) == 0 || missing[0] != "status.json of n1: 401: "+want {
			t.Errorf("missing is %q", missing)
		}
	}
}

// A bundle that is interrupted is not one that lacks parts.
func TestBundleInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	missing, err := WriteBundle(ctx, io.Discard, canned{"n1/v1/status": "{}"}, "", time.Now())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, missing %v", err, missing)
	}
}

// leaderless is a cluster whose nodes answer, and of which none knows a leader.
type leaderless struct{ canned }

func (l leaderless) Get(ctx context.Context, address, path string) (int, []byte, error) {
	if path == "/v1/cluster/members" {
		return 503, []byte(`{"error":"there is no leader"}`), nil
	}
	return l.canned.Get(ctx, address, path)
}

// A lost quorum is what the check is for: it is critical, and not unknown because nobody is
// there to ask about it.
func TestQuorumWithoutLeader(t *testing.T) {
	t.Parallel()
	quorum := Checks()[0]
	for _, tc := range []struct {
		local canned
		level Level
		line  string
	}{
		{
			canned{"n2/v1/cluster/members": `{"summary":"No leader: 1 of 3 voters answer, 2 are needed","mayFail":0,"voters":3}`}, Critical,
			"CRITICAL - quorum: -1 nodes may fail (No leader: 1 of 3 voters answer, 2 are needed)",
		},
		{canned{"n2/v1/cluster/members": `{"summary":"Healthy: 3 of 3","mayFail":1,"voters":3}`}, Unknown, "UNKNOWN - quorum: "},
		{canned{}, Unknown, "UNKNOWN - quorum: "},
	} {
		outcome, level := quorum.Run(t.Context(), leaderless{tc.local}, time.Now(), quorum.Warn, quorum.Crit)
		if level != tc.level || !strings.HasPrefix(outcome.Line(), tc.line) {
			t.Errorf("%v: %s, want %s", tc.local, outcome.Line(), tc.line)
		}
	}
}

// leaving answers for the first node, and then somebody ends the command.
type leaving struct {
	canned
	leave context.CancelFunc
}

func (l leaving) Get(ctx context.Context, address, path string) (int, []byte, error) {
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	l.leave()
	return l.canned.Get(ctx, address, path)
}

// A check that is ended knows nothing, also if what it had heard until then was good: the node that
// was not asked any more may be the one that is full.
func TestInterruptedCheck(t *testing.T) {
	t.Parallel()
	for _, check := range Checks() {
		ctx, leave := context.WithCancel(t.Context())
		nodes := leaving{canned{
			"n1/metrics":            "seriatim_disk_free_bytes 50\nseriatim_disk_total_bytes 100\nseriatim_clock_skew_seconds{peer=\"n2\"} 0\nseriatim_raft_peer_lag_entries{peer=\"n2\"} 0\n",
			"n1/v1/cluster/members": `?`, "n1/v1/queues": `{"next":"q"}`,
		}, leave}
		if outcome, level := check.Run(ctx, nodes, time.Now(), check.Warn, check.Crit); level != Unknown || outcome.Value != nil {
			t.Errorf("%s", outcome.Line())
		}
	}
}
