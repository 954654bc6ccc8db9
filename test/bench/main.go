package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// report has the used fields of the JSON report of seriatim bench.
type report struct {
	BodyBytes         int
	Messages          int64
	MessagesPerSecond float64
	MeasuredSeconds   float64
	WarmupSeconds     float64
	Errors            map[string]int64
	Latency           map[string]latency
	Checks            []struct {
		Name  string
		Count int64
	}
}

type latency struct{ P50Us, P90Us, P99Us, P999Us float64 }

// measurement is one run of one workload.
type measurement struct {
	report report
	// processorMicros is the processor time of all servers per message;
	// 0: unknown.
	processorMicros float64
}

func main() {
	runs := flag.Int("runs", 3, "runs of each workload, of which the median is taken")
	duration := flag.Duration("duration", 5*time.Second, "measured time of one run")
	only := flag.String("only", "",
		"run only workloads whose name contains this; with -goals: numbers of goals with commas, or a part of a name")
	goals := flag.Bool("goals", false, "measure the goals that need a state, a fault or a look at the servers")
	scale := flag.Float64("scale", 1, "of the numbers in those goals")
	auth := flag.Bool("auth", false, "compare the rates with auth, with auth and TLS, and without")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case *auth:
		err = measureAuth(ctx, *runs, *duration)
	case *goals:
		err = measureGoals(ctx, *scale, *only)
	default:
		err = measure(ctx, *runs, *duration, *only)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure runs everything and prints the table. The line of a failed run contains its error.
func measure(ctx context.Context, runs int, duration time.Duration, only string) (err error) {
	if runs < 1 || duration <= 0 {
		return errors.New("-runs and -duration must be above zero")
	}
	found := &results{runs: runs}
	dir, err := os.MkdirTemp("", "seriatim-bench-")
	if err != nil {
		return fmt.Errorf("directory for the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	cluster, err := harness.Start(ctx, harness.Options{Binary: binary, Dir: dir, Nodes: nodes, Env: processors})
	if err != nil {
		return err
	}
	defer cluster.Close()
	for _, w := range workloads(duration.String()) {
		if strings.Contains(w.name, only) {
			found.list = append(found.list, w)
		}
	}
	found.measured, found.problems = make([][]measurement, len(found.list)), make([]error, len(found.list))
	for run := range runs {
		for i, w := range found.list {
			m, err := clientOf{scheme: "http"}.run(ctx, binary, cluster.Nodes, w.args)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				found.problems[i] = fmt.Errorf("%w\n%s", err, cluster.LogTails())
				fmt.Fprintf(os.Stderr, "run %d of %d  %-42s failed: %v\n", run+1, runs, w.name, err)
				continue
			}
			fmt.Fprintf(os.Stderr, "run %d of %d  %-42s %8.0f messages/s\n", run+1, runs, w.name, m.report.MessagesPerSecond)
			found.measured[i] = append(found.measured[i], m)
		}
	}
	found.write(os.Stdout)
	return errors.Join(found.problems...)
}

// clientOf has the address scheme and flags of the load generator for a cluster.
type clientOf struct {
	scheme string
	args   []string
	env    []string
}

// run runs one workload as a user would: with the command beside the table.
func (c clientOf) run(ctx context.Context, binary string, nodes []*harness.Node, args []string) (measurement, error) {
	var endpoints []string
	for _, n := range nodes {
		endpoints = append(endpoints, c.scheme+"://"+n.Client)
	}
	args = append([]string{"bench"}, args...)
	args = append(args, "--endpoint", strings.Join(endpoints, ","), "--admin", "http://"+nodes[0].Admin, "-o", "json")
	cmd := exec.CommandContext(ctx, binary, append(args, c.args...)...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var words bytes.Buffer
	cmd.Stderr = &words
	before := processorTime(nodes)
	stdout, err := cmd.Output()
	used := processorTime(nodes) - before
	if err != nil {
		return measurement{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, words.String())
	}
	var m measurement
	if err := json.NewDecoder(bytes.NewReader(stdout)).Decode(&m.report); err != nil {
		return measurement{}, fmt.Errorf("read the report: %w", err)
	}
	if whole := float64(m.report.Messages) * (m.report.WarmupSeconds + m.report.MeasuredSeconds) / m.report.MeasuredSeconds; whole > 0 {
		// The warm-up is not counted, but took processor time at about the same rate.
		m.processorMicros = float64(used.Microseconds()) / whole
	}
	return m, nil
}

// processorTime returns the processor time of all servers so far, or 0 without /proc.
func processorTime(nodes []*harness.Node) time.Duration {
	ticks := int64(0)
	for _, n := range nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.Pid()))
		if err != nil {
			return 0
		}
		_, fields, _ := strings.Cut(string(text), ") ") // the name before may hold spaces
		var state string
		var skip [10]int64
		var user, system int64
		if _, err := fmt.Fscan(strings.NewReader(fields), &state, &skip[0], &skip[1], &skip[2], &skip[3], &skip[4],
			&skip[5], &skip[6], &skip[7], &skip[8], &skip[9], &user, &system); err != nil && !errors.Is(err, io.EOF) {
			return 0
		}
		ticks += user + system
	}
	const ticksPerSecond = 100 // of the interface, whatever the kernel uses
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// nodes is the number of servers.
const nodes = 3

// processors gives each server its share of the machine, like dev does.
func processors(string) []string {
	return []string{fmt.Sprintf("GOMAXPROCS=%d", max(2, runtime.GOMAXPROCS(0)/nodes))}
}
