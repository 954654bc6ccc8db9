package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// benchReport is the outcome of a run; its JSON is a contract.
type benchReport struct {
	Workload          string                  `json:"workload"`
	Protocol          string                  `json:"protocol"`
	Endpoints         []string                `json:"endpoints"`
	Clients           int                     `json:"clients"`
	Batch             int                     `json:"batch"`
	BodyBytes         int                     `json:"bodyBytes"`
	Groups            int                     `json:"groups"`
	WarmupSeconds     float64                 `json:"warmupSeconds"`
	MeasuredSeconds   float64                 `json:"measuredSeconds"`
	Messages          int64                   `json:"messages"`
	MessagesPerSecond float64                 `json:"messagesPerSecond"`
	Calls             int64                   `json:"calls"`
	Errors            map[string]int64        `json:"errors"`
	Latency           map[string]benchLatency `json:"latency"`
	Checks            []benchCheck            `json:"checks"`
	Generator         benchGenerator          `json:"generator"`
	Server            benchServer             `json:"server"`
}

// benchLatency are quantiles in microseconds.
type benchLatency struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50Us"`
	P90   float64 `json:"p90Us"`
	P99   float64 `json:"p99Us"`
	P999  float64 `json:"p999Us"`
	Max   float64 `json:"maxUs"`
}

// benchCheck is something that was counted to prove the answers right.
// MustBeZero means that a count above zero is a violation.
type benchCheck struct {
	Name       string `json:"name"`
	Count      int64  `json:"count"`
	MustBeZero bool   `json:"mustBeZero"`
}

type benchGenerator struct {
	GoVersion string `json:"goVersion"`
	System    string `json:"system"`
	CPUs      int    `json:"cpus"`
}

// benchServer is what the admin port of the first endpoint says.
type benchServer struct {
	Version    string `json:"version"`
	Nodes      int    `json:"nodes"`
	Local      bool   `json:"local"` // on the generator's own machine
	Durability string `json:"durability"`
}

// protocolNames says what the load was carried by.
var protocolNames = map[string]string{
	"": "SQS JSON 1.0 over HTTP/1.1", overHTTP: "SQS JSON 1.0 over HTTP/1.1",
	overGRPC: "native API over gRPC, unary calls", overStream: "native API over gRPC, streams",
}

// report adds up what the clients counted.
func (r *benchRun) report(ctx context.Context, name string) *benchReport {
	report := &benchReport{
		Workload: name, Protocol: protocolNames[r.flags.protocol], Endpoints: r.targets,
		Clients: r.flags.clients, Batch: r.flags.batch, BodyBytes: r.flags.size, Groups: r.flags.groups,
		WarmupSeconds: r.flags.warmup.Seconds(), Messages: r.messages(),
		Errors: map[string]int64{}, Latency: map[string]benchLatency{}, Checks: []benchCheck{},
		Generator: benchGenerator{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU()},
		Server:    r.server(ctx),
	}
	if n := r.flags.connections; n > 0 {
		report.Protocol += ", " + plural.Count(n, "connection", "connections") + " shared"
	}
	last := r.warmEnd
	for a := range benchActions {
		sum := &histogram{}
		for _, c := range r.clients {
			if c.latency[a] != nil {
				sum.add(c.latency[a])
			}
		}
		if sum.total > 0 {
			report.Latency[a.String()] = latencyOf(sum)
		}
	}
	for _, c := range r.clients {
		report.Calls += c.calls
		for code, n := range c.errors {
			report.Errors[code] += n
		}
		if c.last.After(last) {
			last = c.last
		}
	}
	if r.flags.count == 0 && r.deadline.After(last) {
		last = r.deadline // nothing was answered any more, and yet it was asked
	}
	if took := last.Sub(r.warmEnd).Seconds(); took > 0 {
		report.MeasuredSeconds = took
		report.MessagesPerSecond = float64(report.Messages) / took
	}
	return report
}

func latencyOf(h *histogram) benchLatency {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	return benchLatency{
		Count: h.total, P50: us(h.quantile(0.5)), P90: us(h.quantile(0.9)), P99: us(h.quantile(0.99)),
		P999: us(h.quantile(0.999)), Max: us(h.longest),
	}
}

// server asks the admin port what was measured. Other servers than ours have
// none; then it is unknown.
func (r *benchRun) server(ctx context.Context) benchServer {
	s := benchServer{Version: "unknown", Durability: "unknown: no admin port answers"}
	if u, err := url.Parse("http://" + r.targets[0]); err == nil {
		s.Local = isLoopback(u.Hostname())
	}
	st, err := r.status(ctx)
	if err != nil {
		return s
	}
	s.Version, s.Nodes = st.Version, 1+len(st.Peers)
	s.Durability = "answers after the change is synced to the disk of the only node"
	if s.Nodes > 1 {
		s.Durability = fmt.Sprintf("answers after the change is synced to the disks of a majority of %d nodes", s.Nodes)
	}
	return s
}

func (r *benchRun) status(ctx context.Context) (status, error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var st status
	err := r.wire.get(limited, "/v1/status", nil, &st)
	return st, err
}

// check adds something counted.
func (b *benchReport) check(name string, n int64, violation bool) {
	b.Checks = append(b.Checks, benchCheck{name, n, violation})
}

// verdict is an error if a guarantee was broken or nothing was measured.
// Failed calls alone are a result, not an error: nodes may have been killed on
// purpose.
func (b *benchReport) verdict() error {
	var broken []string
	for _, c := range b.Checks {
		if c.MustBeZero && c.Count != 0 {
			broken = append(broken, fmt.Sprintf("%s: %d", c.Name, c.Count))
		}
	}
	switch {
	case len(broken) > 0:
		return exit.New(exit.Failed, fmt.Errorf("the server broke a guarantee: %s", strings.Join(broken, ", ")), "")
	case b.Messages == 0:
		return exit.New(exit.Unavailable, errors.New("not one message was measured"), "the errors above say why; the warm-up is not measured")
	}
	return nil
}

// print writes the report as JSON, or as a summary and the table of latencies.
func (b *benchReport) print(p *printer) error {
	if p.format == formatJSON {
		return p.print(b, nil)
	}
	where := "another machine"
	if b.Server.Local {
		where = "this machine"
	}
	summary := table{rows: [][]string{
		{"Workload", fmt.Sprintf("%s, %s, batches of %d, %d-byte bodies, %s", b.Workload,
			plural.Count(b.Clients, "client", "clients"), b.Batch, b.BodyBytes, plural.Count(b.Groups, "group", "groups"))},
		{"Protocol", b.Protocol},
		{"Server", fmt.Sprintf("%s, %s, on %s: %s", b.Server.Version, plural.Count(b.Server.Nodes, "node", "nodes"), where, strings.Join(b.Endpoints, " "))},
		{"Durability", b.Server.Durability},
		{"Generator", fmt.Sprintf("%s %s, %s", b.Generator.GoVersion, b.Generator.System, plural.Count(b.Generator.CPUs, "CPU", "CPUs"))},
		{"Messages", fmt.Sprintf("%d in %.2f s after %.2f s of warm-up", b.Messages, b.MeasuredSeconds, b.WarmupSeconds)},
		{"Rate", fmt.Sprintf("%.0f messages/s", b.MessagesPerSecond)},
	}}
	for _, c := range b.Checks {
		summary.add("Check", c.Name+": "+strconv.FormatInt(c.Count, 10))
	}
	errorsText := "none"
	if len(b.Errors) > 0 {
		var list []string
		for _, code := range slices.Sorted(maps.Keys(b.Errors)) {
			list = append(list, fmt.Sprintf("%s %d", code, b.Errors[code]))
		}
		errorsText = strings.Join(list, ", ")
	}
	summary.add("Errors", errorsText)
	if err := p.print(nil, func() table { return summary }); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.print(nil, b.latencyTable)
}

func (b *benchReport) latencyTable() table {
	ms := func(us float64) string { return strconv.FormatFloat(us/1e3, 'f', 2, 64) }
	t := table{heading: []string{"LATENCY, MS", "COUNT", "P50", "P90", "P99", "P99.9", "MAX"}}
	for _, name := range slices.Sorted(maps.Keys(b.Latency)) {
		l := b.Latency[name]
		t.add(name, strconv.FormatUint(l.Count, 10), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max))
	}
	return t
}

// Buckets of a histogram: exact up to benchLinear nanoseconds, then benchLinear
// buckets for each doubling, so that no value is off by more than 1/64. The
// last bucket holds everything above two minutes.
const (
	benchLinearBits = 6
	benchLinear     = 1 << benchLinearBits
	benchDoublings  = 31
	benchBuckets    = benchLinear * (benchDoublings + 1)
)

// histogram counts durations in log-linear buckets, as HdrHistogram does. Used
// by one goroutine at a time.
type histogram struct {
	counts  [benchBuckets]uint64
	total   uint64
	longest time.Duration
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

// add takes over what another histogram counted.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.longest = max(h.longest, other.longest)
}

// quantile is the upper end of the bucket in which the share q of all values
// is reached, and never more than the longest.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(uint64(q*float64(h.total)+0.5), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(bucketEnd(i), h.longest)
		}
	}
	return h.longest
}

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < benchLinear {
		return int(v)
	}
	shift := bits.Len64(v) - benchLinearBits - 1
	return min((shift+1)*benchLinear+int(v>>shift)-benchLinear, benchBuckets-1)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(i int) time.Duration {
	if i < benchLinear {
		return time.Duration(i)
	}
	shift := i/benchLinear - 1
	first := uint64(i%benchLinear+benchLinear) << shift
	return time.Duration(first + 1<<shift - 1)
}

// messages is what all clients together have done in the measured time.
func (r *benchRun) messages() (n int64) {
	for _, c := range r.clients {
		n += c.done.Load()
	}
	return n
}

// showProgress rewrites one line until the run is over.
func (r *benchRun) showProgress(p *printer, finished <-chan struct{}) {
	if r.interval == 0 {
		return
	}
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	before, beforeAt := r.messages(), time.Now()
	for {
		select {
		case <-finished:
			fmt.Fprint(p.words, "\r\033[K") //nolint:errcheck // no reader is left
			return
		case now := <-ticker.C:
			n := r.messages()
			rate := float64(n-before) / now.Sub(beforeAt).Seconds()
			before, beforeAt = n, now
			what := "measuring"
			if now.Before(r.warmEnd) {
				what = "warming up"
			} else if now.After(r.deadline) {
				what = "finishing"
			}
			total := r.flags.warmup + r.flags.duration
			//nolint:errcheck // no reader is left
			fmt.Fprintf(p.words, "\r\033[K%s  %v of at most %v  %s  %.0f/s", what,
				now.Sub(r.started).Round(100*time.Millisecond), total, plural.Count(n, "message", "messages"), rate)
		}
	}
}
