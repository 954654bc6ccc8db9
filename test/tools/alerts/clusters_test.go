package alerts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// series, ruleTest and ruleCase are the parts of a file for promtool test rules that
// alerts_test.yaml uses.
type series struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type ruleTest struct {
	EvalTime string  `yaml:"eval_time"`
	Alert    string  `yaml:"alertname"`
	Expected []alert `yaml:"exp_alerts"`
}

type alert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

type ruleCase struct {
	Name     string     `yaml:"name"`
	Interval string     `yaml:"interval"`
	Input    []series   `yaml:"input_series"`
	Rules    []ruleTest `yaml:"alert_rule_test"`
}

const (
	thisJob  = `job="seriatim"`
	otherJob = `job="other"`
)

// TestSeveralClusters checks that with two clusters in one Prometheus each alert is about the right
// one, also when the other one is completely down, and that both outages are noticed.
func TestSeveralClusters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deploy, "prometheus", "alerts_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Tests []ruleCase }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	quiet := map[string][]series{}
	for _, c := range file.Tests {
		if len(c.Rules[0].Expected) == 0 {
			quiet[c.Rules[0].Alert] = c.Input
		}
	}
	var cases []ruleCase
	for _, c := range file.Tests {
		if name := c.Rules[0].Alert; len(c.Rules[0].Expected) > 0 && name != "SeriatimNoMetrics" {
			cases = append(cases, otherDies(t, c, quiet[name]), thisDies(t, c))
		}
	}
	if len(cases) < 50 {
		t.Errorf("%d cases", len(cases))
	}
	rules, err := filepath.Abs(filepath.Join(deploy, "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(map[string]any{"rule_files": []string{rules}, "evaluation_interval": "30s",
		"tests": cases}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clusters_test.yaml")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "test", "rules", path)
}

// otherDies adds a second, healthy cluster that goes down after its first samples.
func otherDies(t *testing.T, c ruleCase, healthy []series) ruleCase {
	t.Helper()
	count, end := length(t, c)
	both := append(alive(thisJob, count), c.Input...)
	both = append(both, dying(alive(otherJob, 1))...)
	for _, s := range healthy {
		s.Series = strings.Replace(s.Series, thisJob, otherJob, 1)
		s.Values = firstSample(s.Values)
		both = append(both, dying([]series{s})...)
	}
	c.Name += ", while another cluster dies"
	c.Input, c.Rules = both, append(c.Rules, noMetrics(min(end, 20*time.Hour), "other"))
	return c
}

// thisDies adds a second cluster, which stays up when the cluster of the alert goes down.
func thisDies(t *testing.T, c ruleCase) ruleCase {
	t.Helper()
	count, end := length(t, c)
	c.Name += ", and then its cluster dies"
	c.Input = append(dying(append(alive(thisJob, count), c.Input...)), alive(otherJob, count+30)...)
	c.Rules = append(c.Rules, noMetrics(end+15*time.Minute, "seriatim"))
	return c
}

func alive(job string, samples int) []series {
	return []series{{
		Series: fmt.Sprintf(`seriatim_build_info{namespace="prod", %s, instance="n1"}`, job), Values: fmt.Sprintf("1x%d", samples),
	}}
}

func dying(list []series) []series {
	for i := range list {
		list[i].Values += " stale"
	}
	return list
}

func noMetrics(at time.Duration, job string) ruleTest {
	return ruleTest{EvalTime: strconv.Itoa(int(at.Minutes())) + "m", Alert: "SeriatimNoMetrics", Expected: []alert{{
		Labels: map[string]string{"severity": "critical", "namespace": "prod", "job": job},
		Annotations: map[string]string{
			"summary":     "No node of " + job + " answers the scraper.",
			"runbook_url": "https://github.com/seriatimq/seriatim/blob/main/docs/operate/runbooks.md#seriatimnometrics",
		},
	}}}
}

var repeated = regexp.MustCompile(`^(\S+?)x(\d+)$`)

// length returns the number of samples in the longest series of a case, and when it ends.
func length(t *testing.T, c ruleCase) (longest int, end time.Duration) {
	t.Helper()
	interval, err := time.ParseDuration(c.Interval)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Input {
		n := 0
		for _, token := range strings.Fields(s.Values) {
			n++
			if m := repeated.FindStringSubmatch(token); m != nil {
				times, err := strconv.Atoi(m[2])
				if err != nil {
					t.Fatal(err)
				}
				if n += times; m[1] == "_" {
					n--
				}
			}
		}
		longest = max(longest, n)
	}
	return longest, time.Duration(longest) * interval
}

var first = regexp.MustCompile(`^(_|-?[0-9.]+)`)

func firstSample(values string) string { return first.FindString(values) }
