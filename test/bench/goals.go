package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/harness"
)

// scenario is a goal that no single workload can show: it needs a state, a
// fault, or a look at the servers.
type scenario struct {
	name string
	goal string
	run  func(s *stage, ctx context.Context) error
}

// stage is a fresh cluster for one scenario, and where it writes what it found.
type stage struct {
	*harness.Cluster
	binary  string
	scale   float64 // of the numbers in the goals
	found   []finding
	senders int // made so far
}

// finding is one figure.
type finding struct {
	Scenario string  `json:"scenario"`
	What     string  `json:"what"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Limit    float64 `json:"limit"` // 0: none
	AtLeast  bool    `json:"atLeast"`
}

func (f finding) reached() string {
	switch {
	case f.Limit == 0:
		return ""
	case f.AtLeast == (f.Value >= f.Limit) || f.Value == f.Limit:
		return "yes"
	default:
		return "no"
	}
}

// scenarios are the goals beyond the workloads.
func scenarios() []scenario {
	return []scenario{
		{"deduplication ids", "10,000,000 live ids: 90 % of the rate, at most 120 B an id", (*stage).manyIDs},
		{"parked messages", "1,000,000 of 1 KiB: 90 % of the rate, at most 250 B each beside the body; p99 twice its usual value while the state is written; serving 5 s after all nodes were killed", (*stage).parked},
		{"many queues and groups", "10,000 queues, 1,000,000 groups, 100,000 messages in a group: no operation 3 times slower", (*stage).crowds},
		{"failover", "write gap after SIGKILL 250 ms median and 600 ms worst of 20, SIGSTOP 2 s, caught up in 2 s", (*stage).failover},
		{"waiting consumers", "10,000: under 5 % of a core, at most 20 KB each, a send reaches one in 2 ms", (*stage).waiting},
		{"large bodies", "1 MiB: 150 MB/s, bounded memory", (*stage).large},
	}
}

// measureGoals runs the scenarios, each on a cluster of its own.
func measureGoals(ctx context.Context, scale float64, out, only string) error {
	machine := thisMachine()
	dir, err := os.MkdirTemp("", "seriatim-goals-")
	if err != nil {
		return fmt.Errorf("directory for the clusters: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	binary, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	var found []finding
	var problems []error
	for i, sc := range scenarios() {
		if !strings.Contains(sc.name, only) || ctx.Err() != nil {
			continue
		}
		list, err := runScenario(ctx, sc, binary, filepath.Join(dir, fmt.Sprint(i)), scale)
		found = append(found, list...)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", sc.name, err))
			fmt.Fprintln(os.Stderr, "bench:", problems[len(problems)-1]) //nolint:errcheck // progress
		}
	}
	var text bytes.Buffer
	writeGoals(&text, machine, scale, found)
	if err := os.WriteFile(out, text.Bytes(), 0o644); err != nil { //nolint:gosec // a document to be read by all
		problems = append(problems, fmt.Errorf("write the results: %w", err))
	}
	return errors.Join(problems...)
}

func runScenario(ctx context.Context, sc scenario, binary, dir string, scale float64) ([]finding, error) {
	cluster, err := harness.Start(ctx, harness.Options{Binary: binary, Dir: dir, Nodes: 3, Args: []string{"--profiles"}})
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	defer cluster.Close()
	s := &stage{Cluster: cluster, binary: binary, scale: scale}
	fmt.Fprintln(os.Stderr, sc.name) //nolint:errcheck // progress
	if err = sc.run(s, ctx); err != nil {
		err = fmt.Errorf("%w\n%s", err, cluster.LogTails())
	}
	for i := range s.found {
		s.found[i].Scenario = sc.name
	}
	return s.found, err
}

// times is a number of the goals, scaled.
func (s *stage) times(n int) int { return max(int(float64(n)*s.scale), 100) }

func (s *stage) note(f finding) {
	s.found = append(s.found, f)
	fmt.Fprintf(os.Stderr, "  %-60s %10.1f %-6s %s\n", f.What, f.Value, f.Unit, f.reached()) //nolint:errcheck // progress
}

// bench runs the load generator.
func (s *stage) bench(ctx context.Context, args ...string) (report, error) {
	var endpoints []string
	for _, n := range s.Nodes {
		endpoints = append(endpoints, "http://"+n.Client)
	}
	args = append([]string{"bench"}, args...)
	args = append(args, "--endpoint", strings.Join(endpoints, ","), "--admin", "http://"+s.Nodes[0].Admin, "-o", "json")
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
		s.note(finding{What: "calls that failed in " + args[1], Value: float64(total(r.Errors)), Unit: "calls"})
	}
	return r, nil
}

func total(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// sends is the rate of sends into a queue that exists: singles and batches.
func (s *stage) sends(ctx context.Context, queue string) (singles, batches report, err error) {
	common := []string{"send", "--queue", queue, "--existing", "--clients", "64", "--duration", "5s"}
	if singles, err = s.bench(ctx, common...); err != nil {
		return singles, batches, err
	}
	batches, err = s.bench(ctx, append(common, "--batch", "10")...)
	return singles, batches, err
}

// keeps compares rates with what they were before.
func (s *stage) keeps(what string, before, after report) {
	s.note(finding{What: what + ", before", Value: before.MessagesPerSecond, Unit: "/s"})
	s.note(finding{What: what + ", with it", Value: after.MessagesPerSecond, Unit: "/s"})
	s.note(finding{What: what + ", share kept", Value: 100 * after.MessagesPerSecond / before.MessagesPerSecond, Unit: "%", Limit: 90, AtLeast: true})
}

// resident is the resident memory of each node, on average.
func (s *stage) resident() (sum float64) {
	for _, n := range s.Nodes {
		sum += memoryOf(n, "VmRSS") / float64(len(s.Nodes))
	}
	return sum
}

// live is what each node holds in its heap after a collection, on average.
func (s *stage) live(ctx context.Context) (sum float64, err error) {
	for _, n := range s.Nodes {
		if err := download(ctx, "http://"+n.Admin+"/debug/pprof/heap?gc=1", io.Discard); err != nil {
			return 0, err
		}
		var metrics bytes.Buffer
		if err := download(ctx, "http://"+n.Admin+"/metrics", &metrics); err != nil {
			return 0, err
		}
		for line := range strings.Lines(metrics.String()) {
			if value, ok := strings.CutPrefix(line, "go_memstats_heap_alloc_bytes "); ok {
				bytes, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil {
					return 0, err
				}
				sum += bytes / float64(len(s.Nodes))
			}
		}
	}
	return sum, nil
}

// memoryOf is a line of /proc/pid/status in bytes, 0 where there is none.
func memoryOf(n *harness.Node, name string) float64 {
	var kilobytes float64
	text := valueOf(fmt.Sprintf("/proc/%d/status", n.Pid()), name, "")
	if _, err := fmt.Sscan(text, &kilobytes); err != nil {
		return 0
	}
	return 1024 * kilobytes
}
