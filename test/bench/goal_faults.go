package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/harness"
)

// writers send all the time, each to whichever node answers, and note when they
// were answered.
type writers struct {
	mu      sync.Mutex
	answers []time.Time
	running sync.WaitGroup
	stop    context.CancelFunc
}

func (s *stage) startWriters(ctx context.Context, n int, queue string) *writers {
	w := &writers{}
	ctx, w.stop = context.WithCancel(ctx)
	for range n {
		c := s.newSender()
		w.running.Go(func() {
			for ctx.Err() == nil {
				if c.send(ctx, queue, "x") != nil {
					continue
				}
				w.mu.Lock()
				w.answers = append(w.answers, time.Now())
				w.mu.Unlock()
			}
		})
	}
	return w
}

// gap is the longest time without an answer since from.
func (w *writers) gap(from time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest, last := time.Duration(0), from
	for _, at := range w.answers {
		if at.After(from) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return max(longest, time.Since(last))
}

const failoverKills = 20

// failover kills and stops leaders under load.
func (s *stage) failover(ctx context.Context) error {
	if err := s.newSender().create(ctx, "gap.fifo"); err != nil {
		return err
	}
	w := s.startWriters(ctx, 8, "gap.fifo")
	defer w.running.Wait()
	defer w.stop()
	var gaps, caughtUp []time.Duration
	for range max(int(failoverKills*min(s.scale, 1)), 3) {
		gap, back, err := s.lose(ctx, w, (*harness.Node).Kill, func(n *harness.Node) error { return n.Start() })
		if err != nil {
			return err
		}
		gaps, caughtUp = append(gaps, gap), append(caughtUp, back)
	}
	slices.Sort(gaps)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	s.note(finding{What: fmt.Sprintf("write gap, leader killed, median of %d", len(gaps)), Value: ms(gaps[len(gaps)/2]), Unit: "ms", Limit: 250})
	s.note(finding{What: "write gap, leader killed, worst", Value: ms(gaps[len(gaps)-1]), Unit: "ms", Limit: 600})
	s.note(finding{What: "restarted node caught up, median from its start", Value: middle(caughtUp).Seconds(), Unit: "s", Limit: 2})
	gap, _, err := s.lose(ctx, w, (*harness.Node).Pause, (*harness.Node).Resume)
	if err != nil {
		return err
	}
	s.note(finding{What: "write gap, leader stopped (SIGSTOP)", Value: ms(gap), Unit: "ms", Limit: 2000})
	return nil
}

// lose takes the leader away for three seconds. It returns the longest time
// without an answer, and how long the node needed to catch up.
func (s *stage) lose(ctx context.Context, w *writers, away, back func(*harness.Node) error) (gap, caughtUp time.Duration, err error) {
	leader, err := s.WaitLeader(ctx, time.Minute)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := away(leader); err != nil {
		return 0, 0, err
	}
	pause(ctx, 3*time.Second)
	gap = w.gap(began)
	began = time.Now()
	if err := back(leader); err != nil {
		return 0, 0, err
	}
	next := s.Followers(leader)
	for _, n := range next {
		if err := s.caughtUp(ctx, leader, n); err == nil {
			break
		}
	}
	caughtUp = time.Since(began)
	pause(ctx, time.Second)
	return gap, caughtUp, s.WaitReady(ctx, time.Minute)
}

// caughtUp waits until one node has applied what another had when asked.
func (s *stage) caughtUp(ctx context.Context, late, other *harness.Node) error {
	target, err := other.Status(ctx)
	if err != nil {
		return err
	}
	for {
		if now, err := late.Status(ctx); err == nil && now.AppliedIndex >= target.AppliedIndex {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waiting looks at the servers while consumers wait, then at how fast they
// wake.
func (s *stage) waiting(ctx context.Context) error {
	n := s.times(10_000)
	before := s.resident()
	reported := make(chan error, 1) // the one end
	var polls report
	go func() {
		var err error
		polls, err = s.bench(ctx, "poll", "--clients", fmt.Sprint(n), "--idle", "15s", "--duration", "10s")
		reported <- err
	}()
	// The consumers connect first; of the seconds that follow, the quietest
	// five are those in which they only wait.
	busy, memory, last := time.Duration(-1), 0.0, processorTime(s.Cluster)
	for ended := false; !ended; {
		select {
		case err := <-reported:
			if err != nil {
				return err
			}
			ended = true
		case <-time.After(5 * time.Second):
			now := processorTime(s.Cluster)
			if used := now - last; busy < 0 || used < busy {
				busy = used
			}
			last, memory = now, max(memory, s.resident())
		}
	}
	s.note(finding{What: "consumers", Value: float64(n)})
	s.note(finding{What: "processor time of all three nodes while they wait, of a core", Value: 100 * busy.Seconds() / 5, Unit: "%", Limit: 5})
	s.note(finding{What: "resident memory a consumer, of the node it waits at", Value: (memory - before) * float64(len(s.Nodes)) / float64(n) / 1024, Unit: "KiB", Limit: 20})
	s.note(finding{What: "from a send to the consumer, p50", Value: polls.Latency["receive"].P50Us / 1e3, Unit: "ms", Limit: 2})
	for _, check := range polls.Checks {
		s.note(finding{What: check.Name, Value: float64(check.Count)})
	}
	return nil
}

// large sends bodies of the largest size.
func (s *stage) large(ctx context.Context) error {
	r, err := s.bench(ctx, "send", "--clients", "8", "--size", largeBody, "--count", fmt.Sprint(s.times(1000)), "--warmup", "0s")
	if err != nil {
		return err
	}
	s.note(finding{What: "acknowledged", Value: r.MessagesPerSecond * float64(r.BodyBytes) / 1e6, Unit: "MB/s", Limit: 150, AtLeast: true})
	peak := 0.0
	for _, n := range s.Nodes {
		peak = max(peak, memoryOf(n, "VmHWM"))
	}
	s.note(finding{What: "bodies kept in memory", Value: float64(r.Messages) * float64(r.BodyBytes) / 1e6, Unit: "MB"})
	s.note(finding{What: "largest resident memory of a node", Value: peak / 1e6, Unit: "MB"})
	return nil
}
