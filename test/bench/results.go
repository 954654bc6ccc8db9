package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// host is the machine as it was when the first run began.
type host struct {
	processor string
	memory    string
	kernel    string
	load      float64 // of the last minute; -1: unknown
	commit    string
	at        time.Time
}

func thisMachine() host {
	h := host{processor: "unknown", memory: "unknown", kernel: "unknown", load: -1, commit: "unknown", at: time.Now().UTC()}
	h.processor = valueOf("/proc/cpuinfo", "model name", h.processor)
	h.memory = valueOf("/proc/meminfo", "MemTotal", h.memory)
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if load, err := strconv.ParseFloat(first, 64); err == nil {
			h.load = load
		}
	}
	if text, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		h.commit = strings.TrimSpace(string(text))
	}
	return h
}

// valueOf reads a line "name : value" of a file.
func valueOf(path, name, otherwise string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}

// writeResults writes RESULTS.md.
func writeResults(w io.Writer, h host, list []workload, measured [][]measurement) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) } //nolint:errcheck // a buffer
	say("# Measured\n")
	say("Written by `make bench`; do not edit. Each figure is the median of %d runs, in brackets the lowest and the highest.", len(measured[0]))
	say("Three nodes and the load generator share one machine and the loopback interface. Each run makes a FIFO queue of its")
	say("own; deduplication ids are unique unless said, bodies have 256 bytes unless said, and the server %s.", first(measured).Server.Durability)
	say("The protocol is SQS JSON over HTTP/1.1.\n")
	say("| | |\n| --- | --- |")
	say("| Date, commit | %s, %s |", h.at.Format("2006-01-02 15:04 UTC"), h.commit)
	say("| Processor | %s, %d CPUs |", h.processor, runtime.NumCPU())
	say("| Memory | %s |", h.memory)
	say("| System | %s/%s, kernel %s, %s |", runtime.GOOS, runtime.GOARCH, h.kernel, runtime.Version())
	say("| Load average before | %.1f |\n", h.load)
	if h.busy() {
		say("**The machine was busy with other work when this was measured: the rates and latencies below say nothing about the")
		say("goals.** The processor time for a message moves least with the load.\n")
	}
	say("| Workload | Goal | Messages/s | p50 ms | p99 ms | Servers' CPU, us a message | Reached |")
	say("| --- | --- | --- | --- | --- | --- | --- |")
	for i, wl := range list {
		say("%s", resultRow(h, wl, measured[i]))
	}
	say("\np50 and p99 are of the call, for lives of the way from the start of the send to the confirmed deletion, for waiting")
	say("consumers of the way from the start of the send to the consumer.\n")
	say("## Command lines\n")
	say("Against a cluster started with `seriatim dev --nodes 3`, whose ports these are:\n")
	say("```sh\nnodes=http://127.0.0.1:9324,http://127.0.0.1:9334,http://127.0.0.1:9344")
	for _, wl := range list {
		say("seriatim bench %-70s # %s", strings.Join(wl.args, " ")+" --endpoint $nodes", wl.name)
	}
	say("```")
}

func first(measured [][]measurement) measurement { return measured[0][0] }

// busy reports whether others used a noticeable part of the machine.
func (h host) busy() bool { return h.load > 0.5*float64(runtime.NumCPU()) }

// resultRow is one line of the table.
func resultRow(h host, wl workload, runs []measurement) string {
	of := func(value func(measurement) float64) []float64 {
		var list []float64
		for _, m := range runs {
			list = append(list, value(m))
		}
		slices.Sort(list)
		return list
	}
	rate := of(func(m measurement) float64 { return m.MessagesPerSecond })
	p50 := of(func(m measurement) float64 { return m.Latency[wl.goal.timed].P50Us / 1e3 })
	p99 := of(func(m measurement) float64 { return m.Latency[wl.goal.timed].P99Us / 1e3 })
	processor := of(func(m measurement) float64 { return m.processorMicros })
	failures := int64(0)
	for _, m := range runs {
		for _, n := range m.Errors {
			failures += n
		}
	}
	reached := verdict(wl.goal, median(rate), median(p50), median(p99), runs[0].BodyBytes)
	if h.busy() && reached == "no" {
		reached = "not here"
	}
	if failures > 0 {
		reached += fmt.Sprintf("; %d calls failed", failures)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", wl.name, wl.goal,
		spread(rate, 0), spread(p50, 2), spread(p99, 2), spread(processor, 1), reached)
}

// verdict compares medians with a goal.
func verdict(g goal, rate, p50, p99 float64, bodyBytes int) string {
	if g.String() == "-" {
		return "-"
	}
	volume := rate * float64(bodyBytes) / 1e6
	if rate < g.rate || volume < g.volume || g.p50Ms > 0 && p50 > g.p50Ms || g.p99Ms > 0 && p99 > g.p99Ms {
		return "no"
	}
	return "yes"
}

// median is the middle of a sorted list, the lower one of two.
func median(sorted []float64) float64 { return sorted[(len(sorted)-1)/2] }

func spread(sorted []float64, digits int) string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	if len(sorted) == 1 {
		return text(sorted[0])
	}
	return fmt.Sprintf("%s (%s-%s)", text(median(sorted)), text(sorted[0]), text(sorted[len(sorted)-1]))
}

// writeGoals writes GOALS.md.
func writeGoals(w io.Writer, h host, scale float64, found []finding) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) } //nolint:errcheck // a buffer
	say("# Measured: states, faults, memory\n")
	say("Written by `make bench-goals`; do not edit. Three nodes and the load generator share one machine; each section has a")
	say("fresh cluster. Numbers of ids, messages, queues and consumers are %g of those in the goals.\n", scale)
	say("%s, commit %s, %s, %d CPUs, load average before %.1f.", h.at.Format("2006-01-02 15:04 UTC"), h.commit, h.processor, runtime.NumCPU(), h.load)
	if h.busy() {
		say("\n**The machine was busy with other work: rates and latencies say nothing about the goals.**")
	}
	for _, sc := range scenarios() {
		list := slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.Scenario != sc.name })
		if len(list) == 0 {
			continue
		}
		say("\n## %s\n\nGoal: %s.\n\n| | Measured | Goal | Reached |\n| --- | --- | --- | --- |", strings.ToUpper(sc.name[:1])+sc.name[1:], sc.goal)
		for _, f := range list {
			limit := ""
			if f.Limit > 0 {
				limit = strings.TrimSpace(fmt.Sprintf("at most %.4g %s", f.Limit, f.Unit))
				if f.AtLeast {
					limit = strings.TrimSpace(fmt.Sprintf("at least %.4g %s", f.Limit, f.Unit))
				}
			}
			say("| %s | %s %s | %s | %s |", f.What, strconv.FormatFloat(f.Value, 'f', digits(f.Value), 64), f.Unit, limit, f.reached())
		}
	}
}

// digits are as many as a value of this size is worth.
func digits(v float64) int {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return 0
	case v >= 10:
		return 1
	default:
		return 2
	}
}
