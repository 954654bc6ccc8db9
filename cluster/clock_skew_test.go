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

// steppedClock is the machine's clock, some way off.
type steppedClock struct {
	environment.Clock
	step atomic.Int64
}

func (c *steppedClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.step.Load())) }

// A leader whose clock jumps an hour ahead hands over, and log time stays with
// the true time all the while (faults.md I16).
func TestLeaderWithAWrongClockHandsOver(t *testing.T) {
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
	// Until it hands over the leader stamps at double speed, so log time can
	// be ahead by as long as that took, far less than the hour.
	if ahead := time.Duration(int64(reply.LogTime)-time.Now().UnixMilli()) * time.Millisecond; ahead > clustertest.Patience || ahead < -clustertest.Patience {
		t.Errorf("log time is %v ahead of the true time", ahead)
	}
	clocks[wrong].step.Store(0)
	c.waitFor("the clock to be trusted again", func() bool { return c.nodes[wrong].Status().ClockOffMs == 0 })
}

// A leader that ran an hour ahead and is replaced leaves no frozen deadlines: log
// time goes on at half speed at least, seen through whole nodes (faults.md I16).
func TestLogTimeGoesOnAfterALeaderAhead(t *testing.T) {
	var clocks []*steppedClock
	c := startNodes(t, 3, func(cfg *Config) {
		clock := &steppedClock{Clock: environment.SystemClock()}
		clock.step.Store(int64(time.Hour)) // all of them: nobody can tell
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
