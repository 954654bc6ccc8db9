package unauthenticated

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var turns = flag.Int("turns", 0, "how often to measure clients without and with attackers; 0: never")

// turn is the duration of a measurement.
const turn = 5 * time.Second

// processorTime returns the processor time of all nodes, in seconds.
func processorTime(t *testing.T, c *harness.Cluster) (seconds float64) {
	t.Helper()
	for _, n := range c.Nodes {
		seconds += measured(t, n, "process_cpu_seconds_total")
	}
	return seconds
}

// figures are the measurements with attackers, or those without.
type figures struct {
	p99  []time.Duration
	used []float64 // processor time of all servers per second
}

// measure measures clients and servers for a turn.
func (f *figures) measure(t *testing.T, c *harness.Cluster, signed *clients) {
	t.Helper()
	signed.look()
	used, began := processorTime(t, c), time.Now()
	time.Sleep(turn)
	f.p99 = append(f.p99, signed.p99())
	f.used = append(f.used, (processorTime(t, c)-used)/time.Since(began).Seconds())
}

// TestClientsBesideUnauthenticatedCallers compares the p99 of clients with and without
// attackers: the medians of several turns. It runs in `make unauthenticated`, and logs the
// processor time that attackers cost the servers.
func TestClientsBesideUnauthenticatedCallers(t *testing.T) {
	if *turns == 0 {
		t.Log("runs with -turns")
		return
	}
	c := start(t)
	signed := startClients(t, c, 2)
	time.Sleep(turn) // to warm up
	var without, with figures
	for range *turns {
		without.measure(t, c, signed)
		attackers := startElsewhere(t, c)
		with.measure(t, c, signed)
		t.Logf("attackers: %s; floods have %d frames", attackers.finish(), floodFrames)
		for _, n := range c.Nodes { // wait until held connections are closed
			await(t, n.Name+" to close the connections of attackers",
				func() bool { return measured(t, n, "seriatim_client_connections") <= 3*clientsCount })
		}
	}
	signed.finish()
	t.Logf("processor time of the three servers per second: without attackers %.3f s, with %.3f s; medians %.3f s and %.3f s",
		without.used, with.used, median(without.used), median(with.used))
	a, b := median(without.p99), median(with.p99)
	t.Logf("p99 of sends without attackers %v, with %v: medians %v and %v, %.2f times", without.p99, with.p99, a, b, float64(b)/float64(a))
	if b > 2*a {
		t.Errorf("attackers more than double the p99 of sends: %v, without them %v", b, a)
	}
}

// median returns the middle value.
func median[N ~int64 | ~float64](of []N) N {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}
