package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// scenario is a goal, or two, that no single workload can show: it needs a
// state, a fault, or a look at the servers.
type scenario struct {
	name    string
	numbers []int // of the goals
	run     func(s *testbed, ctx context.Context) error
	// within is the time that it may take, zero for scenarioTime.
	within time.Duration
	// byName means that the scenario runs only if its name is asked for.
	byName bool
}

// scenarios are the goals beyond the workloads.
func scenarios() []scenario {
	return []scenario{
		{name: "deduplication ids", numbers: []int{5}, run: (*testbed).manyIDs},
		{name: "parked messages", numbers: []int{5, 6}, run: (*testbed).parked, within: 20 * time.Minute},
		{name: "ten million messages", numbers: []int{6}, run: (*testbed).tenMillion, within: time.Hour, byName: true},
		{name: "failover", numbers: []int{7}, run: (*testbed).failover},
		{name: "waiting consumers", numbers: []int{8}, run: (*testbed).waiting},
		{name: "many queues and groups", numbers: []int{9}, run: (*testbed).crowds},
		{name: "large bodies", numbers: []int{10}, run: (*testbed).large},
	}
}

// chosen reports whether a list of numbers, or of parts of names, selects this scenario. An empty
// list selects all.
func (sc scenario) chosen(only string) bool {
	if only == "" {
		return !sc.byName
	}
	for part := range strings.SplitSeq(only, ",") {
		part = strings.TrimSpace(part)
		if n, err := strconv.Atoi(part); err == nil {
			if slices.Contains(sc.numbers, n) && !sc.byName {
				return true
			}
		} else if part != "" && strings.Contains(sc.name, part) {
			return true
		}
	}
	return false
}

// testbed is a fresh cluster for one scenario, and the sink of its results.
type testbed struct {
	*harness.Cluster
	binary  string
	dir     string
	scale   float64 // of the numbers in the goals
	found   []finding
	senders int // made so far
}

// newTestbed starts a cluster. The caller closes it and removes the directory.
func newTestbed(ctx context.Context, binary, dir string, scale float64) (*testbed, error) {
	cluster, err := harness.Start(ctx,
		harness.Options{Binary: binary, Dir: dir, Nodes: nodes, Env: processors, Args: []string{"--profiles"}})
	if err != nil {
		return nil, err
	}
	return &testbed{Cluster: cluster, binary: binary, dir: dir, scale: scale}, nil
}

// scenarioTime bounds one scenario, so that one that hangs does not keep the
// others from being measured.
const scenarioTime = 12 * time.Minute

// measureGoals runs the scenarios, each on its own cluster. Its findings replace the sections of
// these scenarios in the record; the others stay.
func measureGoals(ctx context.Context, scale float64, only string) error {
	if scale <= 0 {
		return errors.New("-scale must be above zero")
	}
	const record = "test/bench/results/goals.json"
	sections, err := readSections(record)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "seriatim-goals-")
	if err != nil {
		return fmt.Errorf("directory for the clusters: %w", err)
	}
	defer os.RemoveAll(dir)
	binary, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	var problems []error
	for i, sc := range scenarios() {
		if !sc.chosen(only) || ctx.Err() != nil {
			continue
		}
		got, err := runScenario(ctx, sc, binary, filepath.Join(dir, fmt.Sprint(i)), scale)
		if ctx.Err() != nil {
			break // the findings of an interrupted scenario are not kept
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", sc.name, err))
			fmt.Fprintln(os.Stderr, "bench:", problems[len(problems)-1])
		}
		sections[sc.name] = got
		// After each scenario, so that the results are kept if a later one hangs.
		problems = append(problems, writeSections(record, sections))
	}
	return errors.Join(append(problems, ctx.Err())...)
}

func runScenario(ctx context.Context, sc scenario, binary, dir string, scale float64) (got section, err error) {
	fmt.Fprintln(os.Stderr, sc.name)
	got = section{At: time.Now().UTC(), Commit: commit(), Processor: valueOf("/proc/cpuinfo", "model name", "unknown"), Scale: scale}
	began := time.Now()
	defer func() {
		got.Seconds = time.Since(began).Seconds()
		if err != nil {
			got.Problem = err.Error()
		}
	}()
	if sc.within == 0 {
		sc.within = scenarioTime
	}
	ctx, cancel := context.WithTimeout(ctx, sc.within)
	defer cancel()
	defer os.RemoveAll(dir)
	s, err := newTestbed(ctx, binary, dir, scale)
	if err != nil {
		return got, err
	}
	defer s.Close()
	if err = sc.run(s, ctx); err != nil {
		err = fmt.Errorf("%w\n%s", err, s.LogTails())
	}
	got.Findings = s.found
	return got, err
}

// times is a number of the goals, scaled.
func (s *testbed) times(n int) int { return max(int(float64(n)*s.scale), 100) }

// say prints how far a scenario is.
func (s *testbed) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  ... "+format+"\n", args...)
}

// add keeps a finding and shows it.
func (s *testbed) add(f finding) {
	if len(f.Values) == 0 && f.Rule == "" {
		return
	}
	slices.Sort(f.Values)
	s.found = append(s.found, f)
	fmt.Fprintf(os.Stderr, "  %-60s %s %s %s\n", f.What, f.text(), f.Unit, f.reached())
}

// note records figures without a goal.
func (s *testbed) note(what, unit string, values ...float64) {
	s.add(finding{What: what, Unit: unit, Values: values})
}

// atMost records figures whose median must be at most limit.
func (s *testbed) atMost(limit float64, what, unit string, values ...float64) {
	s.add(finding{What: what, Unit: unit, Values: values, Limit: limit, Rule: most})
}

// atLeast records figures whose median must be at least limit.
func (s *testbed) atLeast(limit float64, what, unit string, values ...float64) {
	s.add(finding{What: what, Unit: unit, Values: values, Limit: limit, Rule: least})
}

// noneAbove records figures, each of which must be at most limit.
func (s *testbed) noneAbove(limit float64, what, unit string, values ...float64) {
	s.add(finding{What: what, Unit: unit, Values: values, Limit: limit, Rule: worst})
}

// bench runs the load generator against all nodes.
func (s *testbed) bench(ctx context.Context, args ...string) (report, error) {
	return s.benchAt(ctx, s.Nodes, args...)
}

// benchAt runs the load generator against some nodes.
func (s *testbed) benchAt(ctx context.Context, nodes []*harness.Node, args ...string) (report, error) {
	m, err := clientOf{scheme: "http"}.run(ctx, s.binary, nodes, args)
	if len(m.report.Errors) > 0 {
		s.note("calls that failed in "+args[0], "calls", float64(total(m.report.Errors)))
	}
	return m.report, err
}

func total(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
