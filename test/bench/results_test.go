package main

import (
	"bytes"
	"strings"
	"testing"
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
	list := []workload{{"64 clients", []string{"send", "--clients", "64"}, goal{timed: "send", rate: 10, p99Ms: 5}}}
	runs := [][]measurement{{run(30, 1, 6), run(10, 3, 4), run(20, 2, 5)}}
	for _, c := range []struct {
		name string
		load float64
		want []string
	}{
		{"quiet", 0, []string{"| 64 clients | 10/s, p99 5.0 ms | 20 (10-30) | 2.00 (1.00-3.00) | 5.00 (4.00-6.00) | 40.0 (40.0-40.0) | yes |",
			"seriatim bench send --clients 64 --endpoint $nodes ", "median of 3 runs", "answers after the sync"}},
		{"busy", 1000, []string{"say nothing about the"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			writeResults(&out, host{load: c.load}, list, runs)
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			if c.load == 0 && strings.Contains(out.String(), "busy") {
				t.Errorf("called busy:\n%s", out.String())
			}
		})
	}
}

func TestGoals(t *testing.T) {
	var out bytes.Buffer
	writeGoals(&out, host{}, 0.5, []finding{
		{Scenario: "failover", What: "gap", Value: 200, Unit: "ms", Limit: 250},
		{Scenario: "failover", What: "worse gap", Value: 251.26, Unit: "ms", Limit: 250},
		{Scenario: "large bodies", What: "rate", Value: 150, Unit: "MB/s", Limit: 150, AtLeast: true},
		{Scenario: "large bodies", What: "slow rate", Value: 1.234, Unit: "MB/s", Limit: 150, AtLeast: true},
		{Scenario: "large bodies", What: "no goal", Value: 7},
	})
	for _, want := range []string{
		"## Failover\n", "| gap | 200 ms | at most 250 ms | yes |", "| worse gap | 251.3 ms | at most 250 ms | no |",
		"| rate | 150 MB/s | at least 150 MB/s | yes |", "| slow rate | 1.23 MB/s | at least 150 MB/s | no |", "| no goal | 7  |  |  |",
		"are 0.5 of those in the goals",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "## Waiting") {
		t.Error("a section without findings")
	}
}
