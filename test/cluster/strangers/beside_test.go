package strangers

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var turns = flag.Int("turns", 0, "how often to measure clients without and with strangers; 0: not")

// turn is how long each measurement takes.
const turn = 5 * time.Second

// processorTime is what all nodes have used, in seconds.
func processorTime(t *testing.T, c *harness.Cluster) (seconds float64) {
	t.Helper()
	for _, n := range c.Nodes {
		seconds += measured(t, n, "process_cpu_seconds_total")
	}
	return seconds
}

// figures are those of the turns of one kind.
type figures struct {
	p99  []time.Duration
	used []float64 // processor time of all servers, a second
}

// measure measures clients and servers for a turn.
func (f *figures) measure(t *testing.T, c *harness.Cluster, friends *friends) {
	t.Helper()
	friends.look()
	used, began := processorTime(t, c), time.Now()
	time.Sleep(turn)
	f.p99 = append(f.p99, friends.p99())
	f.used = append(f.used, (processorTime(t, c)-used)/time.Since(began).Seconds())
}

// Clients are served nearly as fast beside strangers. It is measured in turns, and the
// medians are compared; `make strangers` asks for it. What strangers cost the servers is
// a figure to read.
func TestClientsBesideStrangers(t *testing.T) {
	if *turns == 0 {
		t.Log("asked for with -turns")
		return
	}
	c := start(t)
	friends := startFriends(t, c, 2)
	time.Sleep(turn) // to warm up
	var without, with figures
	for range *turns {
		without.measure(t, c, friends)
		strangers := startElsewhere(t, c)
		with.measure(t, c, friends)
		t.Logf("strangers: %s; floods have %d frames", strangers.finish(), floodFrames)
		for _, n := range c.Nodes { // what was held open is gone
			await(t, n.Name+" to be rid of strangers", func() bool { return measured(t, n, "seriatim_client_connections") <= 3*friendsCount })
		}
	}
	friends.finish()
	t.Logf("processor time of the three servers a second: without strangers %.3f s, with %.3f s; medians %.3f s and %.3f s",
		without.used, with.used, median(without.used), median(with.used))
	a, b := median(without.p99), median(with.p99)
	t.Logf("p99 of sends without strangers %v, with %v: medians %v and %v, %.2f times", without.p99, with.p99, a, b, float64(b)/float64(a))
	if b > 2*a {
		t.Errorf("strangers have made p99 of sends more than twice as long: %v, without them %v", b, a)
	}
}

// median is the one in the middle.
func median[N ~int64 | ~float64](of []N) N {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}
