package bench

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// Report is the outcome of a run. Its JSON is a contract.
type Report struct {
	Workload          string             `json:"workload"`
	Protocol          string             `json:"protocol"`
	Endpoints         []string           `json:"endpoints"`
	Clients           int                `json:"clients"`
	Batch             int                `json:"batch"`
	BodyBytes         int                `json:"bodyBytes"`
	Groups            int                `json:"groups"`
	WarmupSeconds     float64            `json:"warmupSeconds"`
	MeasuredSeconds   float64            `json:"measuredSeconds"`
	Messages          int64              `json:"messages"`
	MessagesPerSecond float64            `json:"messagesPerSecond"`
	Calls             int64              `json:"calls"`
	Errors            map[string]int64   `json:"errors"`
	Latency           map[string]Latency `json:"latency"`
	Checks            []Check            `json:"checks"`
	Generator         Generator          `json:"generator"`
	Server            Server             `json:"server"`
}

// Latency holds quantiles in microseconds.
type Latency struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50Us"`
	P90   float64 `json:"p90Us"`
	P99   float64 `json:"p99Us"`
	P999  float64 `json:"p999Us"`
	Max   float64 `json:"maxUs"`
}

// Check is a count that shows whether the answers were right.
type Check struct {
	Name       string `json:"name"`
	Count      int64  `json:"count"`
	MustBeZero bool   `json:"mustBeZero"` // another count is a broken guarantee
}

// Generator describes the machine of the load generator, and the cost of a call there.
type Generator struct {
	GoVersion string  `json:"goVersion"`
	System    string  `json:"system"`
	CPUs      int     `json:"cpus"`
	CallUs    float64 `json:"callUs"` // processor time of the generator for a call, in microseconds
}

// Server describes the cluster, as the admin port of the first endpoint reports it.
type Server struct {
	Version    string `json:"version"`
	Nodes      int    `json:"nodes"`
	Local      bool   `json:"local"` // on the generator's machine
	Durability string `json:"durability"`
}

// protocolNames holds the names of the protocols in reports.
var protocolNames = map[string]string{
	HTTP: "SQS JSON 1.0 over HTTP/1.1", GRPC: "native API over gRPC, unary calls", Stream: "native API over gRPC, streams",
}

// report adds up the counters of all workers.
func (r *run) report(ctx context.Context, used time.Duration) *Report {
	report := &Report{
		Workload: r.Workload.Name, Protocol: protocolNames[r.Protocol], Endpoints: r.target.Addresses,
		Clients: r.Clients, Batch: r.Batch, BodyBytes: r.Size, Groups: r.Groups, WarmupSeconds: r.Warmup.Seconds(),
		Errors: map[string]int64{}, Latency: map[string]Latency{}, Checks: []Check{},
		Generator: Generator{GoVersion: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()},
		Server:    r.server(ctx),
	}
	if r.Connections > 0 {
		report.Protocol += ", " + plural.Count(r.Connections, "connection", "connections") + " shared"
	}
	last := r.warmEnd
	sums := map[string]*histogram{}
	for _, w := range r.workers {
		report.Calls += w.calls
		report.Messages += w.done
		for code, n := range w.errors {
			report.Errors[code] += n
		}
		for kind, h := range w.latency {
			if sums[kind] == nil {
				sums[kind] = &histogram{}
			}
			sums[kind].add(h)
		}
		if w.last.After(last) {
			last = w.last
		}
	}
	for kind, sum := range sums {
		report.Latency[kind] = sum.latency()
	}
	if report.Calls > 0 {
		report.Generator.CallUs = float64(used.Microseconds()) / float64(report.Calls)
	}
	if r.Count == 0 && r.deadline.After(last) {
		last = r.deadline // an outage at the end is part of the run
	}
	if took := last.Sub(r.warmEnd).Seconds(); took > 0 {
		report.MeasuredSeconds = took
		report.MessagesPerSecond = float64(report.Messages) / took
	}
	return report
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// server describes the cluster. Servers of other projects have no admin port.
func (r *run) server(ctx context.Context) Server {
	s := Server{Version: "unknown", Durability: "unknown: no admin port answers"}
	host, _, _ := net.SplitHostPort(r.target.Addresses[0])
	ip, err := netip.ParseAddr(host)
	s.Local = host == "localhost" || err == nil && ip.IsLoopback()
	status, err := r.target.Status(ctx)
	if err != nil {
		return s
	}
	s.Version, s.Nodes = status.Version, status.Nodes
	s.Durability = "answers after the change is synced to the disk of the only node"
	if s.Nodes > 1 {
		s.Durability = fmt.Sprintf("answers after the change is synced to the disks of a majority of %d nodes", s.Nodes)
	}
	return s
}

func (b *Report) check(name string, n int64, violation bool) {
	b.Checks = append(b.Checks, Check{name, n, violation})
}

// verdict returns an error if a guarantee was broken or no message was measured. Failed calls are
// no error, because a node may have been killed on purpose.
func (b *Report) verdict() error {
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
		return exit.New(exit.Unavailable, errors.New("no message was measured"), "see the errors above; the warm-up is not measured")
	}
	return nil
}

// Buckets of a histogram: one for each nanosecond below linear, then linear buckets for each
// doubling. No value is off by more than 1/64; the last bucket holds everything above two minutes.
const (
	linearBits = 6
	linear     = 1 << linearBits
	doublings  = 31
	buckets    = linear * (doublings + 1)
)

// histogram counts durations in log-linear buckets, as HdrHistogram does.
type histogram struct {
	counts  [buckets]uint64
	total   uint64
	longest time.Duration
}

func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.longest = max(h.longest, other.longest)
}

func (h *histogram) latency() Latency {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	return Latency{
		Count: h.total, P50: us(h.quantile(0.5)), P90: us(h.quantile(0.9)), P99: us(h.quantile(0.99)),
		P999: us(h.quantile(0.999)), Max: us(h.longest),
	}
}

// quantile returns the upper end of the bucket in which the share q of all values is reached, at
// most the longest value.
func (h *histogram) quantile(q float64) time.Duration {
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
	v := uint64(max(d, 0)) //nolint:gosec // not negative
	if v < linear {
		return int(v) //nolint:gosec // small
	}
	shift := bits.Len64(v) - linearBits - 1
	return min((shift+1)*linear+int(v>>shift)-linear, buckets-1) //nolint:gosec // below 2*linear
}

// bucketEnd returns the largest value of a bucket.
func bucketEnd(i int) time.Duration {
	if i < linear {
		return time.Duration(i)
	}
	shift := i/linear - 1
	return time.Duration((uint64(i%linear+linear)+1)<<shift - 1) //nolint:gosec // at most two minutes
}
