package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// peersRecord is what test/tools/peers writes. The first queue is seriatim.
type peersRecord struct {
	At         time.Time
	LoadBefore float64
	Others     float64 // processor time others used just before, in percent
	Seconds    float64
	Rounds     int
	BodyBytes  int
	Streams    bool    // calls and streams of the native API were measured
	DiskMs     float64 // of a sync, each server with a disk of its own; 0: all share one
	Queues     []struct{ Name, Version, Protocol, Durable, Command, Problem string }
	Workloads  []struct {
		Name  string
		At    string // where the clients are connected: leader or follower; empty: at all nodes
		Ours  []string
		Costs string // why the generators cost about the same
	}
	Measured [][]struct {
		Runs    []struct{ Rate, P50Ms, P99Ms, ServersUs, GeneratorUs, Machine float64 }
		Problem string
	}
}

// peersDocument makes a document and a picture of a record. The picture lies
// beside the record.
func peersDocument(record, out string) error {
	text, err := os.ReadFile(record)
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	var r peersRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	if len(r.Queues) == 0 || len(r.Measured) != len(r.Workloads) {
		return errors.New("the record is not complete")
	}
	drawing := strings.TrimSuffix(record, filepath.Ext(record)) + ".svg"
	if err := writeDocument(drawing, r.draw()); err != nil {
		return err
	}
	link, err := relative(out, drawing)
	if err != nil {
		return err
	}
	h := thisMachine(0)
	h.at, h.load, h.others = r.At, r.LoadBefore, r.Others
	var document bytes.Buffer
	r.write(&document, h, filepath.ToSlash(link))
	return writeDocument(out, document.Bytes())
}

// relative is how a document refers to a file, wherever the project is.
func relative(document, file string) (string, error) {
	from, err := filepath.Abs(filepath.Dir(document))
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
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

// write writes PEERS.md, DISKS.md or STREAMS.md.
func (r *peersRecord) write(w io.Writer, h host, drawing string) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	target, title := "bench-peers", "Measured beside other queues"
	if r.Streams {
		target, title = "bench-streams", "Calls and streams of the native API"
	}
	if r.DiskMs > 0 {
		target = fmt.Sprintf("bench-peers DISK=%gms", r.DiskMs)
		title = fmt.Sprintf("Measured beside other queues, disks of %g ms", r.DiskMs)
	}
	say("# %s\n", title)
	say("Written by `make %s`; do not edit. All servers and the load run on one machine and its loopback interface. All", target)
	say("servers are up, one is under load at a time: every workload goes through all queues before the next one begins, and each")
	say("second round goes through them backwards. Each figure is the median of %d rounds of %g s, in brackets the lowest and the", r.Rounds, r.Seconds)
	say("highest. Bodies have %d bytes. Each client has one call under way, unless it is asynchronous or a stream. The clients of NATS share four", r.BodyBytes)
	say("connections in every line, as programs do that use it; those of the others have a connection each, except where a line says that clients share four:")
	say("there the clients of seriatim make unary calls of gRPC, and those of NATS do the same as in the line without that. Calls are")
	say("SQS JSON over HTTP/1.1 unless they are of gRPC. One client is at the first node, whichever leads, but where a line says where. A ratio is the rate of seriatim divided by that of the")
	say("other: above 1 seriatim is faster. The servers of seriatim share the processors among themselves (`dev` sets GOMAXPROCS, %d", max(2, runtime.NumCPU()/nodes))
	say("here for each); the others run with their own settings for it.\n")
	if r.DiskMs > 0 {
		say("Every server has a disk of its own on which a sync takes %g ms: data lies in memory, and each fsync and fdatasync waits", r.DiskMs)
		say("that long (strace), beside those of other threads. What servers share on this machine is the processors.\n")
	}
	writeMachine(w, h)
	say("## Messages a second, and the ratio\n")
	r.writeTable(w, r.cell)
	say("\n![rates](%s)\n", drawing)
	say("## Milliseconds, p50 / p99\n")
	r.writeTable(w, r.latencies)
	say("\n## Processors\n\nMicroseconds of the servers for a message, and how much of the machine was in use meanwhile, with the load. A line in which the")
	say("whole machine is in use is limited by it.\n")
	r.writeTable(w, r.usage)
	say("\n## What the load costs\n\nMicroseconds of the generator for a message, median. It shares the machine with the servers, so a dearer generator lowers the rate.\n")
	r.writeTable(w, r.generators)
	say("")
	for _, wl := range r.Workloads {
		if wl.Costs != "" {
			say("- %s: %s", wl.Name, wl.Costs)
		}
	}
	say("\n## What is certain when a message is confirmed\n\n| Queue | Version | Protocol | Durable | Servers |\n| --- | --- | --- | --- | --- |")
	for _, q := range r.Queues {
		version := q.Version
		if q.Problem != "" {
			version = q.Problem
		}
		say("| %s | %s | %s | %s | `%s` |", q.Name, oneLine(version), q.Protocol, q.Durable, q.Command)
	}
	say("\nA batch is one call to seriatim and ElasticMQ, one atomic batch to NATS, and ten messages sent before the first")
	say("answer is awaited to RabbitMQ. A full life is a send, a receive and a confirmed removal; RabbitMQ never confirms the last.")
	say("Asynchronous is a Sender of the Go client with up to 1000 unanswered messages, and to NATS the asynchronous")
	say("publish of its client with 4000 unanswered messages for each connection.\n")
	say("## Command lines\n\n```sh\nmake %s BENCH_TIME=%gs BENCH_RUNS=%d   # everything above", target, r.Seconds, r.Rounds)
	say("seriatim dev --nodes 3\nnodes=http://127.0.0.1:9324,http://127.0.0.1:9334,http://127.0.0.1:9344")
	say("leader=${nodes%%%%,*} follower=${nodes##*,}   # as seriatim status says who leads")
	for _, wl := range r.Workloads {
		say("seriatim bench %-30s --duration %gs --endpoint $%s   # %s", strings.Join(wl.Ours, " "), r.Seconds, cmp.Or(wl.At, "nodes"), wl.Name)
	}
	say("```")
}

// sortedRuns are the values of the runs of one workload on one queue.
func (r *peersRecord) sortedRuns(workload, queue int, value func(rate, p50, p99 float64) float64) runs {
	if queue >= len(r.Measured[workload]) {
		return nil
	}
	var list runs
	for _, run := range r.Measured[workload][queue].Runs {
		list = append(list, value(run.Rate, run.P50Ms, run.P99Ms))
	}
	slices.Sort(list)
	return list
}

func rateOf(rate, _, _ float64) float64 { return rate }

func (r *peersRecord) cell(workload, queue int) string {
	rates := r.sortedRuns(workload, queue, rateOf)
	if len(rates) == 0 {
		return r.missing(workload, queue)
	}
	text := spread(rates, 0)
	if ours := r.sortedRuns(workload, 0, rateOf); queue > 0 && len(ours) > 0 {
		text += fmt.Sprintf("; **%.2f**", median(ours)/median(rates))
	}
	if problem := r.Measured[workload][queue].Problem; problem != "" {
		text += fmt.Sprintf("; %d of %d runs failed: %s", r.Rounds-len(rates), r.Rounds, oneLine(problem))
	}
	return text
}

// missing says why there is no figure.
func (r *peersRecord) missing(workload, queue int) string {
	switch {
	case r.Queues[queue].Problem != "":
		return "not measured, see below"
	case queue < len(r.Measured[workload]) && r.Measured[workload][queue].Problem != "":
		return "failed: " + oneLine(r.Measured[workload][queue].Problem)
	}
	return "-"
}

func (r *peersRecord) latencies(workload, queue int) string {
	p50 := r.sortedRuns(workload, queue, func(_, v, _ float64) float64 { return v })
	p99 := r.sortedRuns(workload, queue, func(_, _, v float64) float64 { return v })
	if len(p50) == 0 {
		return r.missing(workload, queue)
	}
	return spread(p50, 2) + " / " + spread(p99, 2)
}

// writeTable writes a line for each workload with a cell for each queue.
func (r *peersRecord) writeTable(w io.Writer, cell func(workload, queue int) string) {
	var heading, lines strings.Builder
	for _, q := range r.Queues {
		heading.WriteString(" " + q.Name + " |")
	}
	for i, wl := range r.Workloads {
		lines.WriteString("| " + wl.Name + " |")
		for j := range r.Queues {
			lines.WriteString(" " + cell(i, j) + " |")
		}
		lines.WriteString("\n")
	}
	fmt.Fprintf(w, "| Workload |%s\n| --- |%s\n%s", heading.String(), strings.Repeat(" --- |", len(r.Queues)), lines.String())
}

// usage is a cell: medians.
func (r *peersRecord) usage(workload, queue int) string {
	if queue >= len(r.Measured[workload]) || len(r.Measured[workload][queue].Runs) == 0 {
		return r.missing(workload, queue)
	}
	var servers, machine []float64
	for _, run := range r.Measured[workload][queue].Runs {
		servers, machine = append(servers, run.ServersUs), append(machine, run.Machine)
	}
	own := "-" // the system did not tell
	if of := median(servers); of > 0 {
		own = fmt.Sprintf("%.1f", of)
	}
	return fmt.Sprintf("%s, %.0f %%", own, median(machine))
}

// generators is a cell: the median of what a message cost the generator.
func (r *peersRecord) generators(workload, queue int) string {
	if queue >= len(r.Measured[workload]) || len(r.Measured[workload][queue].Runs) == 0 {
		return r.missing(workload, queue)
	}
	var costs []float64
	for _, run := range r.Measured[workload][queue].Runs {
		costs = append(costs, run.GeneratorUs)
	}
	if median(costs) == 0 {
		return "-" // the record is older, or the system does not say
	}
	return fmt.Sprintf("%.1f", median(costs))
}

// oneLine makes a text fit into a cell.
func oneLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.ReplaceAll(first, "|", "/")
	return first[:min(len(first), 160)]
}

func (r *peersRecord) draw() []byte {
	var panels []panel
	for i, wl := range r.Workloads {
		group := panel{heading: wl.Name}
		for j, q := range r.Queues {
			group.bars = append(group.bars, bar{q.Name, r.sortedRuns(i, j, rateOf), r.missing(i, j)})
		}
		panels = append(panels, group)
	}
	return drawBars(fmt.Sprintf("Messages a second, %d-byte bodies, median of %d with lowest and highest", r.BodyBytes, r.Rounds), panels)
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
