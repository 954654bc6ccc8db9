package cluster

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
)

func TestClockGuardJudges(t *testing.T) {
	const hour, bound = time.Hour, 30 * time.Second
	cases := []struct {
		name   string
		voters int
		others []time.Duration // how far the clocks of others are ahead
		off    time.Duration
	}{
		{"alone", 1, nil, 0},
		{"nobody was heard", 3, nil, 0},
		{"all agree", 3, []time.Duration{0, time.Second}, 0},
		{"within the bound", 3, []time.Duration{bound, bound}, 0},
		{"this one is ahead", 3, []time.Duration{-hour, -hour}, hour},
		{"this one is behind", 3, []time.Duration{hour, hour}, -hour},
		{"another is ahead", 3, []time.Duration{0, hour}, 0},
		{"two differ: nobody knows which is right", 3, []time.Duration{hour}, 0},
		{"all three differ: the middle one is trusted", 3, []time.Duration{-hour, -2 * hour}, hour},
		{"no majority of five", 5, []time.Duration{hour}, 0},
		{"a majority of five that agrees", 5, []time.Duration{hour, hour}, -hour},
		{"two and two of five", 5, []time.Duration{hour, hour, 0}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			hand := newHandClock(1_000_000)
			ids := []string{"a", "b", "c", "d", "e"}[:c.voters]
			guard := newClockGuard(Config{Clock: hand, Timing: Timing{ClockSkewMax: bound}}, "a", func() []string { return ids })
			for i, ahead := range c.others {
				round := time.Second
				guard.observe(ids[i+1], hand.Wall().Add(ahead-round/2), round)
			}
			if off := guard.off(); off != c.off {
				t.Errorf("off by %v, want %v", off, c.off)
			}
			if stamp := guard.Wall().Sub(hand.Wall()); stamp != -c.off {
				t.Errorf("the log is stamped %v away from this clock, want %v", stamp, -c.off)
			}
		})
	}
}

func TestClockGuardForgets(t *testing.T) {
	hand := newHandClock(1_000_000)
	guard := newClockGuard(Config{Clock: hand, Timing: Timing{ClockSkewMax: time.Second}}, "a", func() []string { return []string{"a", "b", "c"} })
	behind := hand.Wall().Add(-time.Hour)
	guard.observe("b", behind, 0)
	guard.observe("stranger", behind, 0)
	guard.observe("c", behind, 2*clockRoundMax) // too slow to say anything
	if off := guard.off(); off != 0 {
		t.Fatalf("off by %v by the word of one voter", off)
	}
	guard.observe("c", behind, 0)
	if off := guard.off(); off != time.Hour {
		t.Fatalf("off by %v", off)
	}
	if guard.mayLead("b") != true || guard.mayLead("unheard of") != true {
		t.Error("a node that agrees with the median may lead, and one of which nothing is known")
	}
	hand.pass(2 * clockSampleAge)
	guard.observe("b", hand.Wall(), 0)
	if off := guard.off(); off != 0 {
		t.Errorf("off by %v by the word of long ago", off)
	}
}

// A clock that steps is judged by what was heard of others before: a node may come
// to lead, and stamp the log, before it hears of them again.
func TestClockGuardSeesAStepAtOnce(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		hand := newHandClock(10_000_000)
		guard := newClockGuard(Config{Clock: hand, Timing: Timing{ClockSkewMax: 30 * time.Second}}, "a", func() []string { return []string{"a", "b", "c"} })
		guard.observe("b", hand.Wall(), 0)
		guard.observe("c", hand.Wall(), 0)
		hand.pass(5 * time.Second)
		right := hand.Wall()
		hand.step(step)
		if got := guard.Wall(); !got.Equal(right) {
			t.Errorf("after a step of %v the log is stamped %v away from the others' clocks", step, got.Sub(right))
		}
		if off := guard.off(); off != step {
			t.Errorf("after a step of %v the clock is off by %v", step, off)
		}
		hand.step(-step)
		if off := guard.off(); off != 0 {
			t.Errorf("after it was set right the clock is off by %v", off)
		}
	}
}

func TestClockTravelsOnProbes(t *testing.T) {
	ours, theirs := newHandClock(1_000_000), newHandClock(5_000_000)
	voters := func() []string { return []string{"a-1", "b-2"} }
	guard := newClockGuard(Config{Clock: ours, Timing: Timing{ClockSkewMax: time.Second}}, "a-1", voters)
	far := (*gossipPings)(newClockGuard(Config{Clock: theirs}, "b-2", voters))
	for _, name := range []string{"b-2#7", "b-2"} { // the second is not how our nodes are named
		(*gossipPings)(guard).NotifyPingComplete(&memberlist.Node{Name: name}, 200*time.Millisecond, far.AckPayload())
		(*gossipPings)(guard).NotifyPingComplete(&memberlist.Node{Name: name}, 0, nil)
	}
	if got, want := guard.ahead()["b-2"], 4_000*time.Second+100*time.Millisecond; got != want {
		t.Errorf("ahead by %v, want %v", got, want)
	}
}

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
	if ahead := time.Duration(int64(reply.LogTime)-time.Now().UnixMilli()) * time.Millisecond; ahead > testPatience || ahead < -testPatience {
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
