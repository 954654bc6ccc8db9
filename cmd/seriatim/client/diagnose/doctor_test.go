package diagnose

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// Each check that is not good comes with advice, and the worst one decides.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	const metrics = "seriatim_disk_free_bytes 50\nseriatim_disk_total_bytes 100\nseriatim_clock_skew_seconds{peer=\"n2\"} 0\nseriatim_raft_peer_lag_entries{peer=\"n2\"} 0\n"
	well := canned{
		"n1/readyz": "ready", "n2/readyz": "ready", "n1/metrics": metrics, "n2/metrics": metrics,
		"n1/v1/cluster/members": `{"summary":"Healthy: 3 of 3","mayFail":1,"voters":3}`, "n1/v1/queues": `{"queues":[]}`,
	}
	for _, tc := range []struct {
		name  string
		other canned
		level Level
		bad   map[string]Level
	}{
		{"all is well", nil, OK, nil},
		{"dead letters", canned{"n1/v1/queues": `{"queues":[{"name":"dead","visible":1}]}`}, Warning, map[string]Level{"dlq": Warning}},
		{
			"a full disk and dead letters",
			canned{"n2/metrics": "seriatim_disk_free_bytes 1\nseriatim_disk_total_bytes 100\n", "n1/v1/queues": `{"queues":[{"name":"dead","visible":1}]}`},
			Critical,
			map[string]Level{"dlq": Warning, "disk": Critical},
		},
		{"what is not known", canned{"n1/v1/cluster/members": "?"}, Unknown, map[string]Level{"quorum": Unknown}},
	} {
		nodes := maps.Clone(well)
		maps.Copy(nodes, tc.other)
		d, worst := Diagnose(t.Context(), nodes, time.Unix(1_700_000_000, 0))
		if worst != tc.level || d.Level != tc.level.String() || len(d.Findings) != 2+len(Checks()) {
			t.Errorf("%s: %v, %+v", tc.name, worst, d)
		}
		for _, f := range d.Findings {
			if want := tc.bad[f.Check]; f.level != want || (f.Advice != "") != (want == Warning || want == Critical) {
				t.Errorf("%s: %s, advice %q", tc.name, f.Line(), f.Advice)
			}
		}
	}
	if _, worst := Diagnose(t.Context(), canned{}, time.Unix(1_700_000_000, 0)); worst != Critical {
		t.Errorf("nobody answers: %v", worst)
	}
}

// Where nothing is away and yet nothing may fail, the voters are too few: nobody has to be started, and the thresholds
// are as documented. One node may be meant.
func TestTooFewVoters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		members string
		level   Level
		line    string
		advice  string
	}{
		{
			`{"summary":"Healthy: 1 of 1 voters answer","healthy":true,"mayFail":0,"voters":1}`, Warning,
			"WARNING - quorum: no node may fail (Healthy: 1 of 1 voters answer); 1 voter survives no failure | quorum=0;1;0", "operations.md#growing",
		},
		{
			`{"summary":"Healthy: 2 of 2 voters answer","healthy":true,"mayFail":0,"voters":2}`, Warning,
			"WARNING - quorum: no node may fail (Healthy: 2 of 2 voters answer); 2 voters survive no failure | quorum=0;1;0", "operations.md#growing",
		},
		{
			`{"summary":"Degraded: 2 of 3 voters answer","healthy":false,"mayFail":0,"voters":3}`, Warning,
			"WARNING - quorum: no node may fail (Degraded: 2 of 3 voters answer) | quorum=0;1;0", "runbooks.md#seriatimquorumlost",
		},
		{
			`{"summary":"No leader: 1 of 1 voters answer","healthy":false,"mayFail":0,"voters":1}`, Critical,
			"CRITICAL - quorum: -1 nodes may fail (No leader: 1 of 1 voters answer) | quorum=-1;1;0", "runbooks.md#seriatimquorumlost",
		},
	} {
		d, _ := Diagnose(t.Context(), canned{"n1/v1/cluster/members": tc.members}, time.Unix(1_700_000_000, 0))
		for _, f := range d.Findings {
			if f.Check == "quorum" && (f.level != tc.level || f.Line() != tc.line || !strings.Contains(f.Advice, tc.advice)) {
				t.Errorf("%s: %s, advice %q, want %s, %s", tc.members, f.Line(), f.Advice, tc.line, tc.advice)
			}
		}
	}
}

// Every check has advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range Checks() {
		if advice[c.Name] == "" {
			t.Errorf("there is no advice about %s", c.Name)
		}
	}
}
