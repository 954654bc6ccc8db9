package leader

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

func TestLogClock(t *testing.T) {
	type reading struct {
		pass time.Duration // advance of both clocks
		step time.Duration // of the wall clock only, before pass
		want queue.Timestamp
	}
	cases := []struct {
		name     string
		state    queue.Timestamp
		readings []reading
	}{
		{"follows the wall clock when they agree", 0,
			[]reading{{want: 100_000}, {pass: time.Second, want: 101_000}, {pass: 250 * time.Millisecond, want: 101_250}}},
		{"starts at the state when that is ahead", 160_000, []reading{{want: 160_000}}},
		{"runs at half speed while ahead", 160_000,
			[]reading{{pass: 10 * time.Second, want: 165_000}, {pass: 20 * time.Second, want: 175_000}}},
		{"meets the wall clock and then keeps its pace", 110_000,
			[]reading{{pass: 30 * time.Second, want: 130_000}, {pass: time.Second, want: 131_000}}},
		{"a step forward is caught up at double speed", 0,
			[]reading{{step: time.Hour, pass: time.Second, want: 102_000}, {pass: time.Second, want: 104_000}}},
		{"a small step forward is not overshot", 0,
			[]reading{{step: 100 * time.Millisecond, pass: time.Second, want: 101_100}, {pass: time.Second, want: 102_100}}},
		{"a step back slows it down and nothing else", 0, []reading{{step: -time.Hour, pass: 2 * time.Second, want: 101_000}}},
		{"a long silence is no jump", 0, []reading{{pass: 5 * time.Hour, want: 100_000 + 5*3_600_000}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			hand := clustertest.NewHandClock(100_000)
			clock := logClock{clock: hand}
			clock.takeOver(c.state)
			for i, r := range c.readings {
				hand.Step(r.step)
				hand.Pass(r.pass)
				if got := clock.now(); got != r.want {
					t.Fatalf("reading %d: got %d, want %d", i, got, r.want)
				}
			}
		})
	}
}

// Deadlines still pass after the replacement of a leader whose clock was an hour off (faults.md
// I16).
func TestLogClockTakeOverReturnsLead(t *testing.T) {
	hand := clustertest.NewHandClock(100_000)
	clock := logClock{clock: hand}
	if lead := clock.takeOver(100_000 + 3_600_000); lead != time.Hour {
		t.Fatalf("leads by %v, want 1h", lead)
	}
	before := clock.now()
	hand.Pass(time.Minute)
	if passed := clock.now().Sub(before); passed < logtime.Minute/2 {
		t.Fatalf("log time advanced by %d ms in a minute, want at least half", passed)
	}
}

// For any wall clock, log time never falls, and advances at half to double the true pace.
func TestLogClockPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hand := clustertest.NewHandClock(rapid.Int64Range(0, 1<<40).Draw(t, "wall"))
		clock := logClock{clock: hand}
		clock.takeOver(queue.Timestamp(rapid.Int64Range(0, 1<<40).Draw(t, "state")))
		for range rapid.IntRange(1, 20).Draw(t, "readings") {
			before := clock.now()
			passed := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "pass"))
			hand.Step(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "step")))
			hand.Pass(passed)
			moved := time.Duration(clock.now().Sub(before)) * time.Millisecond
			if moved < passed/2-time.Millisecond || moved > 2*passed+time.Millisecond {
				t.Fatalf("log time moved %v while %v passed", moved, passed)
			}
		}
	})
}
