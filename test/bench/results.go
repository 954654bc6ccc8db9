package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// commit returns the revision, with a mark if anything but results differs from it.
func commit() string {
	text, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(text))
	changed, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":(exclude,top)test/bench/*.md",
		":(exclude,top)test/bench/results").Output()
	if err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
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

// results is everything that make bench found.
type results struct {
	list     []workload
	measured [][]measurement // of each workload
	problems []error         // of each workload, the last one; nil: none
	runs     int             // wanted of each
}

// write writes the table of the results.
func (r *results) write(w io.Writer) {
	fmt.Fprintln(w, "| Workload | Goal | Messages/s | p50 ms | p99 ms | Servers' CPU, us a message | Reached |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- |")
	for i, wl := range r.list {
		fmt.Fprintln(w, r.row(wl, r.measured[i], r.problems[i]))
	}
}

// of returns the sorted values of all runs.
func of(list []measurement, value func(measurement) float64) runs {
	var values runs
	for _, m := range list {
		values = append(values, value(m))
	}
	slices.Sort(values)
	return values
}

func rate(m measurement) float64 { return m.report.MessagesPerSecond }

// row is one line of the table.
func (r *results) row(wl workload, list []measurement, problem error) string {
	if len(list) == 0 {
		return fmt.Sprintf("| %s | %s | failed: %s | | | | not measured |", wl.name, wl.goal, oneLine(fmt.Sprint(problem)))
	}
	rates := of(list, rate)
	p50 := of(list, func(m measurement) float64 { return m.report.Latency[wl.goal.timed].P50Us / 1e3 })
	p99 := of(list, func(m measurement) float64 { return m.report.Latency[wl.goal.timed].P99Us / 1e3 })
	processor := of(list, func(m measurement) float64 { return m.processorMicros })
	failures := int64(0)
	for _, m := range list {
		failures += total(m.report.Errors)
	}
	reached := verdict(wl.goal, median(rates), median(p50), median(p99), list[0].report.BodyBytes)
	if failures > 0 {
		reached += fmt.Sprintf("; %d calls failed", failures)
	}
	if len(list) < r.runs {
		reached += fmt.Sprintf("; %d of %d runs failed: %s", r.runs-len(list), r.runs, oneLine(fmt.Sprint(problem)))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", wl.name, wl.goal,
		spread(rates, 0), spread(p50, 2), spread(p99, 2), spread(processor, 1), reached)
}

// runs are the figures of one thing, lowest first.
type runs []float64

// verdict compares medians with a goal.
func verdict(g goal, rate, p50, p99 float64, bodyBytes int) string {
	if g == (goal{timed: g.timed}) {
		return "-"
	}
	volume := rate * float64(bodyBytes) / 1e6
	if rate < g.rate || volume < g.volume || g.p50Ms > 0 && p50 > g.p50Ms || g.p99Ms > 0 && p99 > g.p99Ms {
		return "no"
	}
	return "yes"
}

// median is the middle of a list, in whatever order, the lower one of two.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[(len(list)-1)/2] }

func spread(sorted []float64, digits int) string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	if len(sorted) == 1 {
		return text(sorted[0])
	}
	return fmt.Sprintf("%s (%s-%s)", text(median(sorted)), text(sorted[0]), text(sorted[len(sorted)-1]))
}

// oneLine makes a text fit into a cell.
func oneLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.ReplaceAll(first, "|", "/")
	return first[:min(len(first), 160)]
}
