package diagnose

import (
	"maps"
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

// Every check has advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range Checks() {
		if advice[c.Name] == "" {
			t.Errorf("there is no advice about %s", c.Name)
		}
	}
}
