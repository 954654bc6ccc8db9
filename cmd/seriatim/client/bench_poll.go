package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func benchPollCommand(o *options) *cobra.Command {
	f := &benchFlags{batch: 1}
	interval, idle := 100*time.Millisecond, 5*time.Second
	c := &cobra.Command{
		Use: "poll", Short: "Keep many consumers waiting and measure how fast a message wakes one",
		Long: "Keep many consumers waiting and measure how fast a message wakes one.\n\n" +
			"All clients wait in long polls of 20 seconds on one queue. First nothing is sent for a while, and the entries\n" +
			"that the log grew by are counted: waiting should write nothing. Then one more client sends a message at every\n" +
			"interval, to each endpoint in turn. Receive is the time from the start of a send until a consumer has the message.",
		Example: "  seriatim bench poll --clients 1000\n  seriatim bench poll --clients 10000 --interval 50ms -o json",
		Args:    arguments.None,
	}
	run := o.bench(f, func(*benchRun) workload { return &pollLoad{interval: interval, idle: idle, ready: newSignal()} })
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if interval < time.Millisecond || idle < 0 {
			return exit.New(exit.Usage, fmt.Errorf("--interval is at least 1ms, --idle at least 0"), "")
		}
		return run(cmd, args)
	}
	f.bind(c, 1000)
	c.Flags().DurationVar(&interval, "interval", interval, "time between two messages")
	c.Flags().DurationVar(&idle, "idle", idle, "time without messages before the first")
	return c
}

const (
	pollWait = 20 // seconds, the longest SQS knows
	// pollDials bounds connections being made at once, which wait in the
	// server's backlog.
	pollDials = 64
)

// pollLoad waits for messages.
type pollLoad struct {
	interval, idle time.Duration
	prepare        sync.Once
	dials          chan struct{} // capacity pollDials: an element is a dial under way
	connected      atomic.Int64
	ready          chan struct{} // closed when all clients have connected or failed to
	sent           atomic.Int64
	received       atomic.Int64
	idleEntries    int64 // -1: unknown
	stop           context.CancelFunc
	probes         context.Context
}

func (p *pollLoad) work(ctx context.Context, c *benchClient) {
	p.prepare.Do(func() {
		p.dials = make(chan struct{}, pollDials)
		p.probes, p.stop = context.WithCancel(ctx)
	})
	p.dials <- struct{}{}
	if err := c.conn.Open(p.probes); err != nil {
		c.failed(httpwire.Cut(err))
	}
	<-p.dials
	if p.connected.Add(1) == int64(c.run.flags.clients) {
		close(p.ready)
	}
	if c.number == 0 {
		// The first client begins to wait like all others; what sends the
		// messages runs beside it and ends everything.
		var probing sync.WaitGroup
		probing.Go(func() { p.probe(ctx, c.run) })
		defer probing.Wait()
	}
	for p.probes.Err() == nil {
		p.wait(c)
	}
}

// wait is one long poll and the deletion of what it brought.
func (p *pollLoad) wait(c *benchClient) {
	messages, err := c.receive(p.probes, 1, pollWait)
	now := time.Now()
	switch {
	case p.probes.Err() != nil && err != nil:
		return
	case err != nil:
		c.failed(err)
		benchRest(p.probes, benchPause)
		return
	case len(messages) == 0:
		return
	}
	life, ok := parseFIFOBody(c.run, messages[0].body)
	if !ok {
		return // of a queue that existed, it may belong to somebody
	}
	p.received.Add(1)
	c.measured(benchReceive, life.began, now, 1)
	action := c.buildDelete(messages)
	_ = c.insist(p.probes, func() error { return c.delete(p.probes, action, 1) }) // insist has counted the failure
}

// probe sends a message at every interval, then ends the run.
func (p *pollLoad) probe(ctx context.Context, r *benchRun) {
	defer p.stop()
	select {
	case <-p.ready:
	case <-ctx.Done():
		return
	}
	benchRest(ctx, r.flags.warmup)
	p.idleEntries = p.quiet(ctx, r)
	end := time.Now().Add(r.flags.duration)
	senders := make([]*benchClient, len(r.targets))
	for i := range senders {
		senders[i] = newBenchClient(r, i)
		defer senders[i].conn.Close()
	}
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for n := int64(0); time.Now().Before(end) && (r.flags.count == 0 || n < r.flags.count); n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c := senders[int(n)%len(senders)]
		began := time.Now()
		c.compose(&c.entries[0], n%int64(r.flags.groups), n, began)
		if err := c.insist(ctx, func() error { _, err := c.send(ctx, 1); return err }); err != nil {
			continue
		}
		p.sent.Add(1)
	}
	// The last messages are on their way to a consumer.
	for last := time.Now().Add(finishTime); p.received.Load() < p.sent.Load() && time.Now().Before(last) && ctx.Err() == nil; {
		benchRest(ctx, benchPause)
	}
}

// quiet counts the log entries of a time without messages.
func (p *pollLoad) quiet(ctx context.Context, r *benchRun) int64 {
	before, err := r.status(ctx)
	if err != nil {
		return -1
	}
	benchRest(ctx, p.idle)
	after, err := r.status(ctx)
	if err != nil {
		return -1
	}
	return int64(after.CommitIndex - before.CommitIndex)
}

func (p *pollLoad) finish(_ context.Context, _ *benchRun, report *benchReport) error {
	report.check("messages sent", p.sent.Load(), false)
	report.check("lost: sent and confirmed, never received", max(p.sent.Load()-p.received.Load(), 0), true)
	report.check(fmt.Sprintf("log entries in %v without messages (-1: unknown)", p.idle), p.idleEntries, false)
	return nil
}
