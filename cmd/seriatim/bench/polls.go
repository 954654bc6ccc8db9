package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pollWait     = 20                     // seconds, the longest wait of SQS
	pollInterval = 100 * time.Millisecond // between two messages
	// dialsMax bounds the concurrent connection attempts, which wait in the backlog of a node.
	dialsMax = 64
)

type polls struct {
	run      *run
	dials    chan struct{}
	waiting  sync.WaitGroup // for all clients to connect
	sent     atomic.Int64
	received atomic.Int64
	entries  int64 // log entries written while consumers waited without messages; -1: unknown
	polling  context.Context
	stop     context.CancelFunc
}

func newPolls(r *run) job {
	r.Batch = 1
	p := &polls{run: r, dials: make(chan struct{}, dialsMax), entries: -1}
	p.waiting.Add(r.Clients)
	return p
}

func (p *polls) fill(ctx context.Context) error {
	p.polling, p.stop = context.WithCancel(ctx)
	return nil
}

func (p *polls) work(ctx context.Context, w *worker) {
	p.dials <- struct{}{}
	if err := w.caller.(*sqsCaller).open(p.polling); err != nil {
		w.failed(err)
	}
	<-p.dials
	p.waiting.Done()
	if w.number == 0 {
		var probing sync.WaitGroup
		probing.Go(func() { p.probe(ctx) })
		defer probing.Wait()
	}
	for p.polling.Err() == nil {
		p.wait(w)
	}
}

// wait makes one long poll and deletes its message.
func (p *polls) wait(w *worker) {
	w.calls++
	deliveries, err := w.receive(p.polling, 1, pollWait)
	now := time.Now()
	switch {
	case p.polling.Err() != nil && err != nil:
		return
	case err != nil:
		w.failed(err)
		pause(p.polling, failurePause)
		return
	case len(deliveries) == 0:
		return
	}
	one, ok := p.run.parse(deliveries[0].Body)
	if !ok {
		return // an existing queue may hold messages of others
	}
	p.received.Add(1)
	w.measured("receive", one.began, now, 1)
	_ = w.insist(p.polling, func() error { return w.remove(p.polling, []string{deliveries[0].ReceiptHandle}) }) // insist counts failures
}

// probe sends a message at every interval, then ends the run.
func (p *polls) probe(ctx context.Context) {
	defer p.stop()
	p.waiting.Wait()
	pause(ctx, p.run.Warmup)
	before, err := p.run.target.Status(ctx)
	pause(ctx, p.run.Idle)
	if after, failed := p.run.target.Status(ctx); err == nil && failed == nil {
		p.entries = int64(after.CommitIndex - before.CommitIndex) //nolint:gosec // the log grows
	}
	senders := make([]*worker, len(p.run.target.Addresses))
	for i := range senders {
		if senders[i], err = p.run.newWorker(i, len(senders)); err != nil {
			return
		}
		defer senders[i].close()
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	end := time.Now().Add(p.run.Duration)
	for n := int64(0); time.Now().Before(end) && (p.run.Count == 0 || n < p.run.Count); n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w := senders[int(n)%len(senders)]
		m := w.compose(n%int64(p.run.Groups), n, time.Now())
		if w.insist(ctx, func() error { _, err := w.send(ctx, []message{m}); return err }) == nil {
			p.sent.Add(1)
		}
	}
	// Wait until the consumers have the last messages.
	for last := time.Now().Add(finishTime); p.received.Load() < p.sent.Load() && time.Now().Before(last) && ctx.Err() == nil; {
		pause(ctx, failurePause)
	}
}

func (p *polls) finish(_ context.Context, report *Report) error {
	report.check("messages sent", p.sent.Load(), false)
	report.check("lost: sent and confirmed, never received", max(p.sent.Load()-p.received.Load(), 0), true)
	report.check(fmt.Sprintf("log entries in %v without messages (-1: unknown)", p.run.Idle), p.entries, false)
	return nil
}
