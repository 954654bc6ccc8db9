package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	goal    string
	run     func(s *testbed, ctx context.Context) error
	// within is the time that it may take, zero for scenarioTime.
	within time.Duration
	// byName means that the scenario runs only if its name is asked for.
	byName bool
}

// scenarios are the goals beyond the workloads.
func scenarios() []scenario {
	return []scenario{
		{name: "deduplication ids", numbers: []int{5}, goal: "with 10,000,000 live ids 90 % of the rate; at most 120 B an id",
			run: (*testbed).manyIDs},
		{name: "parked messages", numbers: []int{5, 6},
			goal: "with 1,000,000 of 1 KiB 95 % of the rate, 90 % while the state is written, 300 MB of memory, and at " +
				"most 160 B each with its id beside the body; p99 at most twice its usual value while the state is " +
				"written, and no pause above 1 ms; serving 4 s after all nodes were killed", run: (*testbed).parked,
			within: 20 * time.Minute},
		{name: "ten million messages", numbers: []int{6},
			goal: "of 1 KiB parked: at most 2 GiB of memory, serving 20 s after all nodes were killed", run: (*testbed).tenMillion,
			within: time.Hour, byName: true},
		{name: "failover", numbers: []int{7},
			goal: "write gap after SIGKILL of the leader with 150,000 entries in its log, which is started again at " +
				"once or three seconds later, 100 ms median and 300 ms worst of 40, none of 100 long polls at the " +
				"survivors fails; after SIGSTOP 2 s; nothing lost, nothing twice; a restarted node caught up in 2 s at 10,000 sends/s",
			run: (*testbed).failover},
		{name: "waiting consumers", numbers: []int{8},
			goal: "10,000 of them: no disk writes, under 5 % of a core, at most 16 KiB each; a send reaches one in 1.5 ms",
			run:  (*testbed).waiting},
		{name: "many queues and groups", numbers: []int{9},
			goal: "10,000 queues, 1,000,000 groups in a queue, 100,000 messages in a group: no operation 3 times slower",
			run:  (*testbed).crowds},
		{name: "large bodies", numbers: []int{10}, goal: "1 MiB: 150 MB/s, or what the disk takes of three copies; bounded memory",
			run: (*testbed).large},
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
func measureGoals(ctx context.Context, scale float64, out, only string) error {
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
		var text bytes.Buffer
		writeGoals(&text, sections)
		// After each scenario, so that the results are kept if a later one hangs.
		problems = append(problems, writeSections(record, sections), writeDocument(out, text.Bytes()))
	}
	return errors.Join(append(problems, ctx.Err())...)
}

func runScenario(ctx context.Context, sc scenario, binary, dir string, scale float64) (got section, err error) {
	fmt.Fprintln(os.Stderr, sc.name)
	got = newSection(thisMachine(sampleTime), scale)
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
	fmt.Fprintf(os.Stderr, "  %-60s %s %s %s\n", f.What, f.text(), f.Unit, f.reached(false))
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
	var endpoints []string
	for _, n := range nodes {
		endpoints = append(endpoints, "http://"+n.Client)
	}
	args = append([]string{"bench"}, args...)
	args = append(args, "--endpoint", strings.Join(endpoints, ","), "--admin", "http://"+nodes[0].Admin, "-o", "json")
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var words bytes.Buffer
	cmd.Stderr = &words
	stdout, err := cmd.Output()
	if err != nil {
		return report{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, words.String())
	}
	var r report
	if err := json.Unmarshal(stdout, &r); err != nil {
		return report{}, fmt.Errorf("read the report: %w", err)
	}
	if len(r.Errors) > 0 {
		s.note("calls that failed in "+args[1], "calls", float64(total(r.Errors)))
	}
	return r, nil
}

func total(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
