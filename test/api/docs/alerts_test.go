package docs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

const (
	alertsFile     = "deploy/prometheus/alerts.yaml"
	alertTestsFile = "deploy/prometheus/alerts_test.yaml"
	dashboardFile  = "deploy/grafana/seriatim.json"
	runbooksFile   = "docs/operate/runbooks.md"
)

// alertRule contains the parts of a Prometheus alert that the tests use.
type alertRule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	harness.Must(t, yaml.Unmarshal([]byte(read(t, alertsFile)), &file))
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) < 15 {
		t.Fatalf("%d alerts in %s", len(rules), alertsFile)
	}
	return rules
}

// metricNames returns the metrics that a text uses.
var metricNames = regexp.MustCompile(`\bseriatim_[a-z0-9_]+`)

// unknownMetrics returns the metrics that a text uses but the manual does not list. Another test
// compares the manual with the servers.
func unknownMetrics(t *testing.T, text string) (unknown []string) {
	t.Helper()
	table := read(t, "docs/reference/metrics.md")
	for _, name := range metricNames.FindAllString(text, -1) {
		plain := name
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			plain = strings.TrimSuffix(plain, part)
		}
		histogram := plain != name && strings.Contains(table, "| `"+plain+"` | histogram |")
		if !histogram && !strings.Contains(table, "| `"+name+"` |") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// Each alert uses existing metrics, links to its section of the runbooks, states its severity, and
// has a test in which it fires and one in which it does not.
func TestAlerts(t *testing.T) {
	t.Parallel()
	runbooks, tests := read(t, runbooksFile), alertTests(t)
	rules := alertRules(t)
	for _, r := range rules {
		if unknown := unknownMetrics(t, r.Expr); len(unknown) > 0 || !metricNames.MatchString(r.Expr) {
			t.Errorf("%s: no metrics, or unknown ones: %v", r.Alert, unknown)
		}
		if strings.Count(runbooks, "\n## "+r.Alert+"\n") != 1 {
			t.Errorf("%s has no section %s", runbooksFile, r.Alert)
		}
		if want := runbooksFile + "#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s: runbook_url is %q, it must end with %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
			t.Errorf("%s: severity %q, summary %q", r.Alert, r.Labels["severity"], r.Annotations["summary"])
		}
		if got := tests[r.Alert]; got.fires == 0 || got.quiet == 0 {
			t.Errorf("%s has %d tests in which it fires and %d in which it does not in %s", r.Alert, got.fires, got.quiet, alertTestsFile)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(runbooks, -1) {
		if !slices.ContainsFunc(rules, func(r alertRule) bool { return r.Alert == m[1] }) {
			t.Errorf("%s has a section about %s, which is no alert", runbooksFile, m[1])
		}
	}
}

type alertCases struct{ fires, quiet int }

// alertTests counts the tests of each alert.
func alertTests(t *testing.T) map[string]alertCases {
	t.Helper()
	var file struct {
		Tests []struct {
			Rules []struct {
				Name   string `yaml:"alertname"`
				Alerts []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	harness.Must(t, yaml.Unmarshal([]byte(read(t, alertTestsFile)), &file))
	found := map[string]alertCases{}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			cases := found[r.Name]
			if len(r.Alerts) > 0 {
				cases.fires++
			} else {
				cases.quiet++
			}
			found[r.Name] = cases
		}
	}
	return found
}

// Each panel of the dashboard shows metrics that exist, and has a place of its own.
func TestDashboard(t *testing.T) {
	t.Parallel()
	type place struct{ X, Y, W, H int }
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos place
			Targets []struct{ Expr string }
		}
	}
	harness.Must(t, json.Unmarshal([]byte(read(t, dashboardFile)), &dashboard))
	ids, places := map[int]bool{}, map[place]string{}
	for _, p := range dashboard.Panels {
		at := place{X: p.GridPos.X, Y: p.GridPos.Y}
		if ids[p.ID] || places[at] != "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s has the number %d and the place %+v, which another panel has or none can have", p.Title, p.ID, p.GridPos)
		}
		ids[p.ID], places[at] = true, p.Title
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if unknown := unknownMetrics(t, target.Expr); len(unknown) > 0 {
				t.Errorf("%s: unknown metrics %v", p.Title, unknown)
			}
		}
	}
	if len(places) < 25 {
		t.Errorf("%d panels", len(places))
	}
}
