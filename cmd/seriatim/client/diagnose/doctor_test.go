package diagnose

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/health"
)

// Each warning or critical finding has advice, and the worst one decides the level.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	low, failed := at("n2", health.Found("disk", "", 1, "1 of 100")), health.Found("dlq", "failed", 1, "1 message")
	for _, tc := range []struct {
		name  string
		found []health.Finding
		level health.Level
		bad   map[string]health.Level
	}{
		{"all is well", nil, health.OK, nil},
		{"dead letters", []health.Finding{failed}, health.Warning, map[string]health.Level{"dlq": health.Warning}},
		{"a full disk and dead letters", []health.Finding{low, failed}, health.Critical,
			map[string]health.Level{"dlq": health.Warning, "disk": health.Critical}},
	} {
		d := Diagnose(t.Context(), canned{"n1/livez": "ok", "n2/livez": "ok", "n1" + membersPath: saying(t, tc.found...)})
		if d.Level != tc.level || len(d.Findings) != len(health.Checks()) {
			t.Errorf("%s: %+v", tc.name, d)
		}
		for _, f := range d.Findings {
			if want := tc.bad[f.Check]; f.Level != want || (f.Advice != "") != (want != health.OK) {
				t.Errorf("%s: %s, advice %q", tc.name, f.Line(), f.Advice)
			}
		}
	}
	d := Diagnose(t.Context(), canned{"n1/livez": "ok", "n1" + membersPath: saying(t)})
	if d.Level != health.Critical || d.Findings[0].Line() != "CRITICAL - members: n2 does not answer: refused" {
		t.Errorf("a named node is away: %+v", d)
	}
	if d := Diagnose(t.Context(), canned{}); d.Level != health.Critical || d.Findings[len(d.Findings)-1].Level != health.Unknown {
		t.Errorf("no node answers: %+v", d)
	}
}

// Every check has advice that a machine with nothing but the program can follow.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range health.Checks() {
		if c.Advice == "" || strings.Contains(c.Advice, "docs/") || c.None == "" {
			t.Errorf("%s: advice %q, without values %q", c.Name, c.Advice, c.None)
		}
	}
}
