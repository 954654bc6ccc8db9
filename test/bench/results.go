package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// host describes the machine at the start of the first run.
type host struct {
	processor string
	memory    string
	kernel    string
	load      float64 // of the last minute; -1: unknown
	others    float64 // processor time that others used, in percent of all CPUs; -1: unknown
	commit    string
	at        time.Time
}

// sampleTime is the time for which the machine is watched before the first start. The load
// average also counts earlier work of this program.
const sampleTime = 2 * time.Second

// thisMachine looks at the machine, for a while to see how busy others keep it.
func thisMachine(sample time.Duration) host {
	h := host{processor: "unknown", memory: "unknown", kernel: "unknown", load: -1, commit: commit(), at: time.Now().UTC()}
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
	h.others = -1
	before, ok := processorTicks()
	if sample > 0 && ok {
		time.Sleep(sample) // nothing announces how busy a machine is
		after, _ := processorTicks()
		h.others = after.share(before)
	}
	return h
}

// ticks is the processor time of the machine since its start.
type ticks struct{ idle, all int64 }

// processorTicks reads the first line of /proc/stat.
func processorTicks() (t ticks, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if i == 0 || i > 8 || err != nil { // the time of guests is part of user time
			continue
		}
		t.all += n
		if i == 4 || i == 5 { // idle, and idle while a disk worked
			t.idle += n
		}
	}
	return t, t.all > 0
}

// share returns the used part of the time since before, in percent.
func (t ticks) share(before ticks) float64 {
	if t.all <= before.all {
		return 0
	}
	return 100 * (1 - float64(t.idle-before.idle)/float64(t.all-before.all))
}

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
	host     host
	list     []workload
	measured [][]measurement // of each workload
	problems []error         // of each workload, the last one; nil: none
	runs     int             // wanted of each
}

// write writes RESULTS.md.
func (r *results) write(w io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("# Measured: rates and latencies, goals 1 to 4\n")
	say("Written by `make bench`; do not edit. The performance goals have numbers: 1 to 4 are here, 5 to 10 in GOALS.md.\n")
	say("Each figure is the median of %d runs, in brackets the lowest and the highest.", r.runs)
	say("Three nodes and the load generator share one machine and the loopback interface. Each run makes a FIFO queue of its")
	say("own; deduplication ids are unique unless said, bodies have 256 bytes unless said, and the server %s.", r.durability())
	say("Each server has its part of the processors, %s, as `seriatim dev --nodes 3` gives it.", processors("")[0])
	say("The protocol is SQS JSON over HTTP/1.1.\n")
	writeMachine(w, r.host)
	say("| Workload | Goal | Messages/s | p50 ms | p99 ms | Servers' CPU, us a message | Reached |")
	say("| --- | --- | --- | --- | --- | --- | --- |")
	for i, wl := range r.list {
		say("%s", r.row(wl, r.measured[i], r.problems[i]))
	}
	say("\np50 and p99 are of the call, for lives of the way from the start of the send to the confirmed deletion, for waiting")
	say("consumers of the way from the start of the send to the consumer.\n")
	say("## Command lines\n")
	say("`make bench` measures all of it. One workload, against a cluster started with `seriatim dev --nodes 3`, whose ports these are:\n")
	say("```sh\nnodes=http://127.0.0.1:9324,http://127.0.0.1:9334,http://127.0.0.1:9344")
	for _, wl := range r.list {
		say("seriatim bench %-70s # %s", strings.Join(wl.args, " ")+" --endpoint $nodes", wl.name)
	}
	say("```")
}

// durability returns the guarantee of the server.
func (r *results) durability() string {
	for _, runs := range r.measured {
		for _, m := range runs {
			return m.Server.Durability
		}
	}
	return "was never reached"
}

// busyShare is the processor time of other programs, in percent of all CPUs, above which a machine
// counts as busy.
const busyShare = 20

// busy reports whether others used a noticeable part of the machine.
func (h host) busy() bool { return h.others > busyShare }

// of returns the sorted values of all runs.
func of(list []measurement, value func(measurement) float64) runs {
	var values runs
	for _, m := range list {
		values = append(values, value(m))
	}
	slices.Sort(values)
	return values
}

func rate(m measurement) float64 { return m.MessagesPerSecond }

// row is one line of the table.
func (r *results) row(wl workload, list []measurement, problem error) string {
	if len(list) == 0 {
		return fmt.Sprintf("| %s | %s | failed: %s | | | | not measured |", wl.name, wl.goal, oneLine(fmt.Sprint(problem)))
	}
	rates := of(list, rate)
	p50 := of(list, func(m measurement) float64 { return m.Latency[wl.goal.timed].P50Us / 1e3 })
	p99 := of(list, func(m measurement) float64 { return m.Latency[wl.goal.timed].P99Us / 1e3 })
	processor := of(list, func(m measurement) float64 { return m.processorMicros })
	failures := int64(0)
	for _, m := range list {
		failures += total(m.Errors)
	}
	reached := verdict(wl.goal, median(rates), median(p50), median(p99), list[0].BodyBytes)
	if r.host.busy() && reached == "no" {
		reached = "not here"
	}
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

// writeDocument writes a file that all may read, and the folder it is in.
func writeDocument(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // documents
		return fmt.Errorf("folder of the results: %w", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a document to be read by all
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// oneLine makes a text fit into a cell.
func oneLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.ReplaceAll(first, "|", "/")
	return first[:min(len(first), 160)]
}

// writeMachine is the table of what was measured on.
func writeMachine(w io.Writer, h host) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("| | |\n| --- | --- |")
	say("| Date, commit | %s, %s |", h.at.Format("2006-01-02 15:04 UTC"), h.commit)
	say("| Processor | %s, %d CPUs |", h.processor, runtime.NumCPU())
	say("| Memory | %s |", h.memory)
	say("| System | %s/%s, kernel %s, %s |", runtime.GOOS, runtime.GOARCH, h.kernel, runtime.Version())
	say("| Load average before | %.1f |", h.load)
	say("| Processor time others used before | %.0f %% of all CPUs |\n", h.others)
	if h.busy() {
		say("**The machine was busy with other work when this was measured: the rates and latencies below say nothing about the")
		say("goals.** The processor time for a message moves least with the load.\n")
	}
}
