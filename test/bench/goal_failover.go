package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

// writers send all the time, each to whichever node answers, and note when they
// were answered.
type writers struct {
	ledger  *ledger.Ledger
	senders []*sender
	running sync.WaitGroup
	stop    context.CancelFunc
}

// writerRest is the pause between two sends of a writer. It limits the number of messages, which
// are all received and counted at the end.
const writerRest = 4 * time.Millisecond

func (s *testbed) startWriters(ctx context.Context, n int, queue string) *writers {
	w := &writers{ledger: ledger.New()}
	ctx, w.stop = context.WithCancel(ctx)
	for range n {
		c := s.newSender()
		w.senders = append(w.senders, c)
		w.running.Go(func() {
			for ctx.Err() == nil {
				body, tried := c.next(), time.Now()
				if c.send(ctx, queue, body) != nil {
					w.ledger.Uncertain(body)
					continue
				}
				w.ledger.Acknowledged(body, "", tried)
				pause(ctx, writerRest)
			}
		})
	}
	return w
}

// end stops the writers and waits for them.
func (w *writers) end() {
	w.stop()
	w.running.Wait()
}

const (
	failoverLog   = 150_000 // entries
	failoverPolls = 100
	failoverKills = 20 // of each kind
	failoverStops = 5
	failoverQueue = "gap.fifo"
)

// fillLog sends until the log has so many entries.
func (s *testbed) fillLog(ctx context.Context, entries uint64) error {
	for {
		leader, err := s.WaitLeader(ctx, time.Minute)
		if err != nil {
			return err
		}
		status, err := leader.Status(ctx)
		if err != nil {
			return err
		}
		if s.say("%d of %d entries", status.AppliedIndex, entries); status.AppliedIndex >= entries {
			return nil
		}
		if _, err := s.benchAt(ctx, []*harness.Node{leader}, "send", "--clients", "16", "--duration", "10s"); err != nil {
			return err
		}
	}
}

// longPolls is receives that wait at nodes, without an attempt id, for a message that never comes.
type longPolls struct {
	testbed *testbed
	stop    func() // ends the current polls
	failed  atomic.Int64
}

// start lets polls wait at these nodes until stop is called.
func (l *longPolls) start(ctx context.Context, nodes []*harness.Node) (stop func(), err error) {
	if err := l.testbed.newSender().create(ctx, "polled.fifo"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var polling sync.WaitGroup
	for i := range failoverPolls {
		c := l.testbed.newSender()
		c.nodes = nodes[i%len(nodes):][:1]
		polling.Go(func() {
			for ctx.Err() == nil {
				err := c.call(ctx, "ReceiveMessage", map[string]any{"QueueUrl": queueURL("polled.fifo"), "WaitTimeSeconds": 2}, nil)
				if err != nil && ctx.Err() == nil {
					l.failed.Add(1) // polls that ended with 5xx or a broken connection although their node lives
				}
			}
		})
	}
	pause(ctx, time.Second) // they wait at the leader by then
	return func() { cancel(); polling.Wait() }, nil
}

// failover kills and stops leaders under load, counts what was sent, and lets
// nodes catch up.
func (s *testbed) failover(ctx context.Context) error {
	if err := s.newSender().create(ctx, failoverQueue); err != nil {
		return err
	}
	if err := s.fillLog(ctx, uint64(failoverLog*min(s.scale, 1))); err != nil {
		return err
	}
	w := s.startWriters(ctx, 8, failoverQueue)
	defer w.end()
	if err := s.kills(ctx, w); err != nil {
		return err
	}
	stopped, err := s.gaps(ctx, w, max(int(failoverStops*min(s.scale, 1)), 1), (*harness.Node).Pause, (*harness.Node).Resume)
	if err != nil {
		return err
	}
	s.atMost(2000, "write gap, leader stopped (SIGSTOP), median", "ms", stopped...)
	s.noneAbove(2000, "write gap, leader stopped (SIGSTOP), worst", "ms", stopped...)
	w.end()
	if err := s.count(ctx, w); err != nil {
		return err
	}
	return s.catchUps(ctx)
}

// kills kills leaders. A supervisor restarts the first ones at once.
func (s *testbed) kills(ctx context.Context, w *writers) error {
	polls := &longPolls{testbed: s}
	kill := func(n *harness.Node) error {
		stop, err := polls.start(ctx, s.Followers(n))
		if err != nil {
			return err
		}
		polls.stop = stop
		return n.Kill()
	}
	for _, way := range []struct {
		what       string
		away, back func(*harness.Node) error
	}{
		{
			"leader killed (SIGKILL) and started again at once",
			func(n *harness.Node) error { return errors.Join(kill(n), n.Start()) },
			func(*harness.Node) error { polls.stop(); return nil },
		},
		{"leader killed (SIGKILL)", kill, func(n *harness.Node) error { polls.stop(); return n.Start() }},
	} {
		gaps, err := s.gaps(ctx, w, max(int(failoverKills*min(s.scale, 1)), 3), way.away, way.back)
		if err != nil {
			return err
		}
		s.atMost(100, "write gap, "+way.what+", median", "ms", gaps...)
		s.noneAbove(300, "write gap, "+way.what+", worst", "ms", gaps...)
	}
	s.noneAbove(0, fmt.Sprintf("long polls at the survivors that failed, of %d waiting at each kill", failoverPolls), "",
		float64(polls.failed.Load()))
	return nil
}

// gaps makes the leader fail n times and returns the times without a successful write in
// milliseconds.
func (s *testbed) gaps(ctx context.Context, w *writers, n int, away, back func(*harness.Node) error) (gaps []float64, err error) {
	for i := range n {
		gap, err := s.lose(ctx, w, away, back)
		if err != nil {
			return gaps, err
		}
		gaps = append(gaps, float64(gap.Microseconds())/1e3)
		s.say("%d of %d: %v", i+1, n, gap)
	}
	return gaps, nil
}

// lose isolates the leader for three seconds and returns the longest time without an answer.
func (s *testbed) lose(ctx context.Context, w *writers, away, back func(*harness.Node) error) (time.Duration, error) {
	leader, err := s.WaitLeader(ctx, time.Minute)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := away(leader); err != nil {
		return 0, err
	}
	pause(ctx, 3*time.Second)
	gap := w.ledger.Gap(began)
	if err := back(leader); err != nil {
		return 0, err
	}
	if err := s.WaitReady(ctx, time.Minute); err != nil {
		return 0, err
	}
	// The node that was away has caught up before the next one fails.
	for _, other := range s.Followers(leader) {
		if err := caughtUp(ctx, leader, other); err != nil {
			return 0, err
		}
	}
	return gap, nil
}

// caughtUp waits until one node has applied what another one had committed a moment before, while
// the log grows.
func caughtUp(ctx context.Context, late, other *harness.Node) error {
	for {
		target, err := other.Status(ctx)
		if err == nil {
			now, failed := late.Status(ctx)
			if err = failed; err == nil && now.AppliedIndex >= target.AppliedIndex {
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s did not catch up with %s: %w", late.Name, other.Name, ctx.Err())
		}
		pause(ctx, 10*time.Millisecond)
	}
}

const (
	catchUpRate = 10_000
	catchUpDown = 3 * time.Second
)

// catchUps kills a follower under load, starts it again, and waits until it has
// all that the others have.
func (s *testbed) catchUps(ctx context.Context) error {
	var took, rate []float64
	for range rounds {
		leader, err := s.WaitLeader(ctx, time.Minute)
		if err != nil {
			return err
		}
		followers := s.Followers(leader)
		if len(followers) < 2 {
			return errors.New("not all nodes are running")
		}
		late := followers[0]
		loaded := make(chan error, 1) // the one end
		var load report
		go func() {
			var err error
			load, err = s.benchAt(ctx, []*harness.Node{leader, followers[1]}, "send", "--clients", "64", "--duration", "10s", "--rate",
				fmt.Sprint(catchUpRate))
			loaded <- err
		}()
		pause(ctx, time.Second)
		if err := late.Kill(); err != nil {
			return err
		}
		pause(ctx, catchUpDown)
		began := time.Now()
		if err := late.Start(); err != nil {
			return err
		}
		if err := caughtUp(ctx, late, leader); err != nil {
			return err
		}
		took = append(took, time.Since(began).Seconds())
		s.say("caught up after %.2f s", took[len(took)-1])
		if err := <-loaded; err != nil {
			return err
		}
		rate = append(rate, load.MessagesPerSecond)
		if err := s.WaitReady(ctx, time.Minute); err != nil {
			return err
		}
	}
	s.note(fmt.Sprintf("sends while a node catches up, of %d/s offered", catchUpRate), "/s", rate...)
	s.atMost(2, fmt.Sprintf("a node that was down for %v has caught up, from its start", catchUpDown), "s", took...)
	return nil
}

// count receives everything the writers sent.
func (s *testbed) count(ctx context.Context, w *writers) error {
	s.say("counting")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var receiving sync.WaitGroup
	failures := make(chan error, len(w.senders)) // one of each
	for range w.senders {
		c := s.newSender()
		receiving.Go(func() { failures <- c.drain(ctx, failoverQueue, w.ledger) })
	}
	receiving.Wait()
	for range w.senders {
		if err := <-failures; err != nil {
			return err
		}
	}
	report := w.ledger.Report()
	s.note("messages acknowledged during the faults", "", float64(report.Acked))
	s.noneAbove(0, "of them lost", "", float64(len(report.Lost)))
	s.noneAbove(0, "messages received twice", "", float64(len(report.Twice)))
	s.noneAbove(0, "messages out of order", "", float64(len(report.Reordered)))
	return nil
}
