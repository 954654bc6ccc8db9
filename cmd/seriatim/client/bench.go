package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/bench"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func benchCommand(o *options) *cobra.Command {
	c := group("bench", "Put load on a cluster and measure it",
		"Put load on a cluster and measure it.\n\n"+
			"Every workload makes its own FIFO queue and deletes it at the end. The clients use all endpoints of --endpoint in\n"+
			"turn. The command checks answers and counts failures by code. With http each client has its own connection. With\n"+
			"grpc the clients may share --connections.")
	for _, w := range bench.Workloads {
		c.AddCommand(o.workload(&w))
	}
	c.AddCommand(roundTripCommand(o))
	return c
}

// roundTrips are the times of calls to one endpoint, in milliseconds. The first call connects, too.
type roundTrips struct {
	Endpoint string  `json:"endpoint"`
	First    float64 `json:"firstMs"`
	Min      float64 `json:"minMs"`
	Median   float64 `json:"medianMs"`
	Max      float64 `json:"maxMs"`
	Error    string  `json:"error,omitempty"`
}

func roundTripCommand(o *options) *cobra.Command {
	count := 10
	c := &cobra.Command{
		Use: "rtt", Short: "Measure the round trip of a small read to each endpoint", Args: arguments.None,
		Long: "Measure the round trip of a small read from here to each endpoint, one call at a time. FIRST includes the connection.\n" +
			"A node that does not lead asks the leader before it answers, so its times include a second trip.",
		Example: "  seriatim bench rtt --endpoint http://10.0.0.1:9324,http://10.0.0.2:9324 --count 50",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return exit.New(exit.Usage, fmt.Errorf("--count %d: it must be at least 1", count), "")
			}
			w, p, err := o.open(cmd)
			if err != nil {
				return err
			}
			list, failed := []roundTrips{}, error(nil)
			for _, address := range w.api.Addresses {
				trips, err := measureRoundTrips(cmd.Context(), w.api, address, count)
				if err != nil {
					trips.Error, failed = err.Error(), err
				}
				list = append(list, trips)
			}
			err = p.print(map[string]any{"endpoints": list}, func() table { return roundTripTable(list) })
			return errors.Join(err, failed)
		},
	}
	c.Flags().IntVarP(&count, "count", "n", count, "calls to each endpoint, after the first")
	return c
}

// measureRoundTrips reads the names of the queues with a prefix that none has.
func measureRoundTrips(ctx context.Context, of native.Options, address string, count int) (trips roundTrips, err error) {
	trips.Endpoint, of.Addresses = address, []string{address}
	n, err := native.Open(of)
	if err != nil {
		return trips, err
	}
	defer n.Close()
	times := make([]float64, count+1)
	for i := range times {
		begun := time.Now()
		err := n.Do(ctx, 0, func(ctx context.Context, c *api.Client) error {
			_, _, err := c.Queues(ctx, "seriatim-no-such-queue-")
			return err
		})
		if err != nil {
			return trips, err
		}
		times[i] = float64(time.Since(begun).Microseconds()) / 1000
	}
	rest := times[1:]
	slices.Sort(rest)
	trips.First, trips.Min, trips.Median, trips.Max = times[0], rest[0], rest[len(rest)/2], rest[len(rest)-1]
	return trips, nil
}

func roundTripTable(list []roundTrips) table {
	ms := func(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
	t := table{heading: []string{"ENDPOINT", "FIRST, MS", "MIN", "MEDIAN", "MAX", "ERROR"}}
	for _, r := range list {
		if r.Error != "" {
			t.add(r.Endpoint, "-", "-", "-", "-", r.Error)
			continue
		}
		t.add(r.Endpoint, ms(r.First), ms(r.Min), ms(r.Median), ms(r.Max), "-")
	}
	return t
}

// workload makes the command of a workload.
func (o *options) workload(w *bench.Workload) *cobra.Command {
	l := bench.Load{Workload: w, Batch: 1, Protocol: w.Protocols[0]}
	c := &cobra.Command{Use: w.Name, Short: w.Short, Long: w.Long, Example: w.Example, Args: arguments.None}
	warmup := time.Second
	if w.Name == "consume" {
		warmup = 0 // the warm-up would receive the messages of the measurement
	}
	f := c.Flags()
	f.IntVarP(&l.Clients, "clients", "c", w.Clients, "clients, each with one request at a time")
	f.IntVarP(&l.Size, "size", "s", 256, "bytes of a message body")
	f.Int64VarP(&l.Count, "count", "n", 0,
		"end after this number of messages, not counting the warm-up; 0: at the end of --duration, consume: 100000")
	f.DurationVar(&l.Duration, "duration", 10*time.Second, "end after this time, not counting the warm-up; with --count, 10m by default")
	f.DurationVar(&l.Warmup, "warmup", warmup, "run this long before measuring")
	f.StringVar(&l.Queue, "queue", "", "name of the FIFO queue to make, which must not exist (default: bench-<random>.fifo)")
	f.BoolVar(&l.Keep, "keep", false, "do not delete the queue at the end")
	set := f.StringArray("set", nil, "attribute of the queue to make, as name=value; may be repeated")
	if len(w.Protocols) > 1 {
		f.StringVar(&l.Protocol, "protocol", l.Protocol, "one of "+strings.Join(w.Protocols, ", "))
		complete(c, "protocol", w.Protocols...)
		f.IntVar(&l.Connections, "connections", 0,
			"connections that the clients share, with --protocol grpc (default: one for each client)")
	}
	if w.Batched {
		f.IntVarP(&l.Batch, "batch", "b", 1, "messages in one call, 1 to 10; 1 calls the actions for one message")
		f.IntVarP(&l.Groups, "groups", "g", 0, "message groups (default: one for each client)")
	}
	if w.Name != "consume" {
		f.BoolVar(&l.Existing, "existing", false, "use an existing queue with its messages, and do not delete it")
	}
	switch w.Name {
	case "send":
		f.Float64Var(&l.Rate, "rate", 0, "messages a second of all clients, with latencies from the due times; 0: send after each answer")
		f.IntVar(&l.Repeat, "repeat", 0, "percentage of messages that repeat an earlier id of the same client")
	case "poll":
		f.DurationVar(&l.Idle, "idle", 5*time.Second, "time without messages before the first")
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if (l.Count > 0 || w.Name == "consume") && !cmd.Flags().Changed("duration") {
			l.Duration = 10 * time.Minute
			if l.Repeat > 0 {
				l.Duration = 3 * time.Minute
			}
		}
		var err error
		if l.Attributes, err = flagPairs("set", *set); err != nil {
			return err
		}
		if err := l.Check(); err != nil {
			return exit.New(exit.Usage, err, "run '"+cmd.CommandPath()+" --help' for the flags")
		}
		return o.bench(cmd, l)
	}
	return c
}

// bench runs a load and prints the report.
func (o *options) bench(cmd *cobra.Command, l bench.Load) error {
	w, p, err := o.open(cmd)
	if err != nil {
		return err
	}
	target := bench.Target{Key: w.api.Key, Account: o.account, Timeout: o.timeout,
		Status: func(ctx context.Context) (bench.Status, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			var st cluster.Status
			err := w.get(ctx, "/v1/status", nil, &st)
			return bench.Status{Version: st.Version, Nodes: 1 + len(st.Peers), CommitIndex: st.CommitIndex}, err
		}}
	hosts, secure, err := native.Hosts(w.api.Addresses)
	if err != nil {
		return err
	}
	target.Addresses = hosts
	if secure {
		target.TLS = w.api.TLS
	}
	report, err := bench.Run(cmd.Context(), target, l)
	if report != nil {
		if failed := printBench(p, report); failed != nil {
			return exit.Wrap(failed)
		}
	}
	return exit.Wrap(err)
}

// printBench writes a report as JSON, or as a summary and the table of latencies.
func printBench(p *printer, b *bench.Report) error {
	if !p.format.ForPeople() {
		return p.print(b, func() table { return latencies(b) })
	}
	where := "another machine"
	if b.Server.Local {
		where = "this machine"
	}
	summary := table{rows: [][]string{
		{"Workload", fmt.Sprintf("%s, %s, batches of %d, %d-byte bodies, %s", b.Workload,
			plural.Count(b.Clients, "client", "clients"), b.Batch, b.BodyBytes, plural.Count(b.Groups, "group", "groups"))},
		{"Protocol", b.Protocol},
		{"Server", fmt.Sprintf("%s, %s, on %s: %s", b.Server.Version, plural.Count(b.Server.Nodes, "node", "nodes"), where,
			strings.Join(b.Endpoints, " "))},
		{"Durability", b.Server.Durability},
		{"Generator", fmt.Sprintf("%s %s, %s, %.1f us of processor time a call", b.Generator.GoVersion, b.Generator.System,
			plural.Count(b.Generator.CPUs, "CPU", "CPUs"), b.Generator.CallUs)},
		{"Messages", fmt.Sprintf("%d in %.2f s after %.2f s of warm-up", b.Messages, b.MeasuredSeconds, b.WarmupSeconds)},
		{"Rate", fmt.Sprintf("%.0f messages/s", b.MessagesPerSecond)},
	}}
	for _, c := range b.Checks {
		summary.add("Check", c.Name+": "+strconv.FormatInt(c.Count, 10))
	}
	list := []string{}
	for _, code := range slices.Sorted(maps.Keys(b.Errors)) {
		list = append(list, fmt.Sprintf("%s %d", code, b.Errors[code]))
	}
	if len(list) == 0 {
		list = []string{"none"}
	}
	summary.add("Errors", strings.Join(list, ", "))
	if err := p.print(nil, func() table { return summary }); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.print(nil, func() table { return latencies(b) })
}

// latencies returns the percentiles of a report.
func latencies(b *bench.Report) table {
	ms := func(us float64) string { return strconv.FormatFloat(us/1e3, 'f', 2, 64) }
	t := table{heading: []string{"LATENCY, MS", "COUNT", "P50", "P90", "P99", "P99.9", "MAX"}}
	for _, name := range slices.Sorted(maps.Keys(b.Latency)) {
		l := b.Latency[name]
		t.add(name, strconv.FormatUint(l.Count, 10), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max))
	}
	return t
}
