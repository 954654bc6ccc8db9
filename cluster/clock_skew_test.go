package cluster

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
)

// steppedClock is the machine's clock plus an offset that a test sets.
type steppedClock struct {
	environment.Clock
	step atomic.Int64
}

func (c *steppedClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.step.Load())) }

// A leader whose clock jumps an hour ahead hands over, and log time stays close to the true time
// (faults.md I16).
func TestLeaderWithAWrongClockHandsOver(t *testing.T) {
	t.Parallel()
	var clocks []*steppedClock
	c := startNodes(t, 3, func(cfg *Config) {
		clock := &steppedClock{Clock: environment.SystemClock()}
		clocks = append(clocks, clock)
		cfg.Clock = clock
	})
	c.create(0, standard)
	wrong := c.leader()
	clocks[wrong].step.Store(int64(time.Hour))
	c.waitFor("another leader", func() bool { return c.leader() != wrong })
	c.waitFor("the wrong clock to be seen by all", func() bool {
		for i, n := range c.nodes {
			off := n.Status().ClockOffMs
			if i == wrong && off < 3_500_000 || i != wrong && off != 0 {
				return false
			}
		}
		return true
	})
	if warnings := strings.Join(c.nodes[wrong].Status().Warnings, "; "); !strings.Contains(warnings, "clock-skew-max") {
		t.Errorf("the status warns of %q", warnings)
	}
	reply := c.submit(wrong, &queue.AdvanceClock{})
	// Until it hands over, the leader advances log time at double speed. So log time may be ahead
	// by as long as that took, which is far less than the hour.
	if ahead := time.Duration(int64(reply.LogTime)-time.Now().UnixMilli()) * time.Millisecond; ahead > clustertest.Timeout ||
		ahead < -clustertest.Timeout {
		t.Errorf("log time is %v ahead of the true time", ahead)
	}
	clocks[wrong].step.Store(0)
	c.waitFor("the clock to be trusted again", func() bool { return c.nodes[wrong].Status().ClockOffMs == 0 })
}

// After a leader that ran an hour ahead is replaced, log time continues at half speed at least, so
// that no deadline freezes (faults.md I16).
func TestLogTimeGoesOnAfterALeaderAhead(t *testing.T) {
	t.Parallel()
	var clocks []*steppedClock
	c := startNodes(t, 3, func(cfg *Config) {
		clock := &steppedClock{Clock: environment.SystemClock()}
		clock.step.Store(int64(time.Hour)) // all clocks, so that no node notices
		clocks = append(clocks, clock)
		cfg.Clock = clock
	})
	c.create(0, standard)
	for _, clock := range clocks {
		clock.step.Store(0)
	}
	c.crash(c.leader())
	i := c.followers()[0]
	from, began := c.submit(i, &queue.AdvanceClock{}).LogTime, time.Now()
	if ahead := int64(from) - began.UnixMilli(); ahead < int64(50*time.Minute/time.Millisecond) {
		t.Fatalf("log time is only %d ms ahead, this tests nothing", ahead)
	}
	c.waitFor("two seconds to pass", func() bool { return time.Since(began) > 2*time.Second })
	to := c.submit(i, &queue.AdvanceClock{}).LogTime
	if moved := time.Duration(to.Sub(from)) * time.Millisecond; moved < 900*time.Millisecond {
		t.Errorf("log time moved %v in %v", moved, time.Since(began))
	}
}

// Ids live as long as their window at least when the clock of the next leader is 30 s
// behind that of the one before, and log time never goes back (servicebus.md, statement
// 44).
func TestIDsOutliveALeaderAhead(t *testing.T) {
	t.Parallel()
	const behind, window = 30 * time.Second, 2 * time.Second
	var clocks []*steppedClock
	c := startNodes(t, 3, func(cfg *Config) {
		clock := &steppedClock{Clock: environment.SystemClock()}
		clocks = append(clocks, clock)
		cfg.Clock = clock
	})
	c.submit(0, &queue.SetClusterSetting{Name: queue.SettingMinimumWindow, Value: "1"})
	c.create(0, fifo, queue.Attribute{Name: "DeduplicationWindowSeconds", Value: "2"})
	began := time.Now()
	send := func(i int) (Reply, queue.SentEntry) {
		reply := c.submit(i, &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entryFor(fifo, "id")}})
		return reply, reply.Result.(queue.MessagesSent).Entries[0]
	}
	old := c.leader()
	before, first := send(old)
	for i, clock := range clocks {
		if i != old {
			clock.step.Store(-int64(behind))
		}
	}
	c.crash(old)
	next := (old + 1) % len(c.nodes)
	last, again := before.LogTime, 0
	for {
		reply, sent := send(next)
		if reply.LogTime < last {
			t.Fatalf("log time went from %d back to %d", last, reply.LogTime)
		}
		if again == 0 && int64(reply.LogTime) < clocks[next].Wall().UnixMilli() {
			t.Fatal("the next leader is not behind, this tests nothing")
		}
		last = reply.LogTime
		if !sent.Duplicate {
			break
		}
		if sent.MessageID != first.MessageID || sent.Sequence != first.Sequence {
			t.Fatalf("the duplicate is answered with %+v, the first with %+v", sent, first)
		}
		again++
	}
	logTime, lived := time.Duration(last.Sub(before.LogTime))*time.Millisecond, time.Since(began)
	if logTime < window || lived < window {
		t.Errorf("the id was forgotten after %v of log time and %v, its window is %v", logTime, lived, window)
	}
	t.Logf("dropped %d times in %v, which were %v of log time", again, lived, logTime)
}
