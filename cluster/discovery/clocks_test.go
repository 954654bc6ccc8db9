package discovery

import (
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func TestClocksJudges(t *testing.T) {
	const hour, bound = time.Hour, 30 * time.Second
	cases := []struct {
		name   string
		voters int
		others []time.Duration // skews of the other clocks
		off    time.Duration
	}{
		{"alone", 1, nil, 0},
		{"nobody was heard", 3, nil, 0},
		{"all agree", 3, []time.Duration{0, time.Second}, 0},
		{"within the bound", 3, []time.Duration{bound, bound}, 0},
		{"this one is fast", 3, []time.Duration{-hour, -hour}, hour},
		{"this one is behind", 3, []time.Duration{hour, hour}, -hour},
		{"another is fast", 3, []time.Duration{0, hour}, 0},
		{"two differ: nobody knows which is right", 3, []time.Duration{hour}, 0},
		{"all three differ: the middle one is trusted", 3, []time.Duration{-hour, -2 * hour}, hour},
		{"no majority of five", 5, []time.Duration{hour}, 0},
		{"a majority of five that agrees", 5, []time.Duration{hour, hour}, -hour},
		{"two and two of five", 5, []time.Duration{hour, hour, 0}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			hand := clustertest.NewHandClock(1_000_000)
			ids := []string{"a", "b", "c", "d", "e"}[:c.voters]
			clocks := NewClocks(hand, bound, "a", func() []string { return ids })
			for i, skew := range c.others {
				round := time.Second
				clocks.observe(ids[i+1], hand.Wall().Add(skew-round/2), round)
			}
			if off := clocks.Off(); off != c.off {
				t.Errorf("off by %v, want %v", off, c.off)
			}
			if stamp := clocks.Wall().Sub(hand.Wall()); stamp != -c.off {
				t.Errorf("the log is stamped %v away from this clock, want %v", stamp, -c.off)
			}
		})
	}
}

func TestClocksForgets(t *testing.T) {
	hand := clustertest.NewHandClock(1_000_000)
	clocks := NewClocks(hand, time.Second, "a", func() []string { return []string{"a", "b", "c"} })
	behind := hand.Wall().Add(-time.Hour)
	clocks.observe("b", behind, 0)
	clocks.observe("stranger", behind, 0)
	clocks.observe("c", behind, 2*roundMax) // too slow to count
	if off := clocks.Off(); off != 0 {
		t.Fatalf("off by %v by the word of one voter", off)
	}
	clocks.observe("c", behind, 0)
	if off := clocks.Off(); off != time.Hour {
		t.Fatalf("off by %v", off)
	}
	if clocks.MayLead("b") != true || clocks.MayLead("unheard of") != true {
		t.Error("a node that agrees with the median may lead, and one of which nothing is known")
	}
	hand.Pass(2 * sampleAge)
	clocks.observe("b", hand.Wall(), 0)
	if off := clocks.Off(); off != 0 {
		t.Errorf("off by %v by the word of long ago", off)
	}
}

// A step of this node's clock shows without further samples: the node may become leader and stamp
// the log before it gets any.
func TestClocksSeesAStepAtOnce(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		hand := clustertest.NewHandClock(10_000_000)
		clocks := NewClocks(hand, 30*time.Second, "a", func() []string { return []string{"a", "b", "c"} })
		clocks.observe("b", hand.Wall(), 0)
		clocks.observe("c", hand.Wall(), 0)
		hand.Pass(5 * time.Second)
		right := hand.Wall()
		hand.Step(step)
		if got := clocks.Wall(); !got.Equal(right) {
			t.Errorf("after a step of %v the log is stamped %v away from the others' clocks", step, got.Sub(right))
		}
		if off := clocks.Off(); off != step {
			t.Errorf("after a step of %v the clock is off by %v", step, off)
		}
		hand.Step(-step)
		if off := clocks.Off(); off != 0 {
			t.Errorf("after it was set right the clock is off by %v", off)
		}
	}
}

func TestClockTravelsOnProbes(t *testing.T) {
	ours, theirs := clustertest.NewHandClock(1_000_000), clustertest.NewHandClock(5_000_000)
	voters := func() []string { return []string{"a-1", "b-2"} }
	clocks := NewClocks(ours, time.Second, "a-1", voters)
	far := (*pings)(NewClocks(theirs, 0, "b-2", voters))
	for _, name := range []string{"b-2#7", "b-2"} { // the second is not a name of our nodes
		(*pings)(clocks).NotifyPingComplete(&memberlist.Node{Name: name}, 200*time.Millisecond, far.AckPayload())
		(*pings)(clocks).NotifyPingComplete(&memberlist.Node{Name: name}, 0, nil)
	}
	if got, want := clocks.Skews()["b-2"], 4_000*time.Second+100*time.Millisecond; got != want {
		t.Errorf("skew %v, want %v", got, want)
	}
}
