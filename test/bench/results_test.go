package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

func TestVerdict(t *testing.T) {
	cases := []struct {
		name           string
		goal           goal
		rate, p50, p99 float64
		bodyBytes      int
		want           string
	}{
		{"no goal", goal{timed: "send"}, 1, 1, 1, 256, "-"},
		{"rate reached", goal{rate: 100}, 100, 99, 99, 256, "yes"},
		{"rate missed", goal{rate: 100}, 99, 0, 0, 256, "no"},
		{"p50 missed", goal{p50Ms: 1, p99Ms: 2}, 1, 1.1, 2, 256, "no"},
		{"p99 missed", goal{p50Ms: 1, p99Ms: 2}, 1, 1, 2.1, 256, "no"},
		{"both reached", goal{p50Ms: 1, p99Ms: 2}, 1, 1, 2, 256, "yes"},
		{"volume reached", goal{volume: 150}, 150, 0, 0, 1_000_000, "yes"},
		{"volume missed", goal{volume: 150}, 149, 0, 0, 1_000_000, "no"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := verdict(c.goal, c.rate, c.p50, c.p99, c.bodyBytes); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestResults(t *testing.T) {
	run := func(rate, p50, p99 float64) measurement {
		m := measurement{processorMicros: 40}
		m.MessagesPerSecond, m.BodyBytes = rate, 256
		m.Latency = map[string]latency{"send": {P50Us: p50 * 1e3, P99Us: p99 * 1e3}}
		m.Server.Durability = "answers after the sync"
		return m
	}
	list := []workload{{"64 clients", []string{"send", "--clients", "64"}, goal{number: 2, timed: "send", rate: 10, p99Ms: 5}}}
	found := results{list: list, measured: [][]measurement{{run(30, 1, 6), run(10, 3, 4), run(20, 2, 5)}}, problems: []error{nil}, runs: 3}
	for _, c := range []struct {
		name   string
		others float64
		want   []string
	}{
		{"quiet", 0, []string{
			"| 64 clients | 2: 10/s, p99 5.0 ms | 20 (10-30) | 2.00 (1.00-3.00) | 5.00 (4.00-6.00) | 40.0 (40.0-40.0) | yes |",
			"seriatim bench send --clients 64 --endpoint $nodes ", "median of 3 runs", "answers after the sync",
		}},
		{"busy", 90, []string{"say nothing about the"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			found.host.others = c.others
			found.write(&out)
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			if c.others == 0 && strings.Contains(out.String(), "busy") {
				t.Errorf("called busy:\n%s", out.String())
			}
		})
	}
}

func TestResultsWithFailures(t *testing.T) {
	list := []workload{{"all failed", []string{"send"}, goal{number: 1}}, {"one failed", []string{"send"}, goal{timed: "send"}}}
	one := measurement{}
	one.MessagesPerSecond = 5
	found := results{list: list, measured: [][]measurement{nil, {one}}, problems: []error{errors.New("a|b\nc"), errors.New("refused")},
		runs: 2}
	var out bytes.Buffer
	found.write(&out)
	for _, want := range []string{"| all failed | 1: | failed: a/b | | | | not measured |",
		"| one failed | - | 5 | 0.00 | 0.00 | 0.0 | -; 1 of 2 runs failed: refused |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestGoals(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	sections := map[string]section{
		"failover": {At: at, Commit: "abc", Scale: 0.5, Findings: []finding{
			{What: "gap", Values: []float64{100, 200, 900}, Unit: "ms", Limit: 250, Rule: most},
			{What: "worst gap", Values: []float64{100, 200, 900}, Unit: "ms", Limit: 600, Rule: worst},
			{What: "lost", Values: []float64{0}, Rule: worst},
		}},
		"large bodies": {At: at, Scale: 1, Others: 50, Problem: "it | broke\nhere", Findings: []finding{
			{What: "rate", Values: []float64{150}, Unit: "MB/s", Limit: 150, Rule: least},
			{What: "slow rate", Values: []float64{1.234}, Unit: "MB/s", Limit: 150, Rule: least},
			{What: "no goal", Values: []float64{7}},
		}},
	}
	// The next run reads the record.
	path := filepath.Join(t.TempDir(), "results", "goals.json")
	if err := writeSections(path, sections); err != nil {
		t.Fatal(err)
	}
	sections, err := readSections(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	writeGoals(&out, sections)
	for _, want := range []string{
		"## Goal 7: failover\n", "| gap | 200 (100-900) ms | 3 | at most 250 ms | yes |",
		"| worst gap | 900 ms | 3 | worst at most 600 ms | no |",
		"| lost | 0 | 1 | worst at most 0 | yes |", "| 7 | failover | 2 of 3; missed: worst gap | 0.5 of the numbers, 2026-01-02 |",
		"| rate | 150 MB/s | 1 | at least 150 MB/s | yes |", "| slow rate | 1.23 MB/s | 1 | at least 150 MB/s | not here |",
		"| no goal | 7 | 1 |  |  |",
		"are 0.5 of those in the goal", "make bench-goals BENCH_SCALE=0.5 GOALS=7", "come to its end: it / broke**",
		"| 8 | waiting consumers | not measured: `make bench-goals BENCH_SCALE=1 GOALS=8` |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "## Goal 8") {
		t.Error("a section without findings")
	}
}

func TestChosen(t *testing.T) {
	for only, want := range map[string]int{"": 6, "5": 2, "parked": 1, "6": 1, "ten": 1, "deduplication": 1, "7,8": 2, " 9 , large": 2,
		"nothing": 0, "1": 0} {
		n := 0
		for _, sc := range scenarios() {
			if sc.chosen(only) {
				n++
			}
		}
		if n != want {
			t.Errorf("%q means %d, want %d", only, n, want)
		}
	}
	for _, sc := range scenarios() {
		n := 0
		for _, other := range scenarios() {
			if other.chosen(sc.only()) {
				n++
			}
		}
		if n != 1 || !sc.chosen(sc.only()) {
			t.Errorf("%q does not choose %s alone", sc.only(), sc.name)
		}
	}
}

// TestAGoalWithoutAFigureIsNotReached checks that a missing measurement does not count as 0.
func TestAGoalWithoutAFigureIsNotReached(t *testing.T) {
	s := &testbed{Cluster: &harness.Cluster{Nodes: []*harness.Node{{Name: "never started"}}}}
	if bytes, known := s.written(); known {
		t.Errorf("%v bytes written by a process that there is not", bytes)
	}
	s.atMost(0, "written to the disks", "B")
	s.atLeast(0, "states", "")
	s.note("nothing", "")
	if len(s.found) != 2 {
		t.Fatalf("%d findings, want the two with a goal", len(s.found))
	}
	for _, f := range s.found {
		if f.reached(false) != "not measured" || f.text() != "no figure" {
			t.Errorf("%s: %s, reached: %s", f.What, f.text(), f.reached(false))
		}
	}
	got := section{At: time.Now(), Findings: s.found}
	if text := got.summary(scenario{name: "waiting", numbers: []int{8}}); !strings.HasPrefix(text,
		"0 of 2; missed: written to the disks, states") {
		t.Error(text)
	}
}

func TestShare(t *testing.T) {
	if got := (ticks{idle: 30, all: 140}).share(ticks{idle: 10, all: 100}); got != 50 {
		t.Errorf("%v %% used, want 50", got)
	}
	if got := (ticks{}).share(ticks{}); got != 0 {
		t.Errorf("%v %% of no time", got)
	}
}
