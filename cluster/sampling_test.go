package cluster

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/history"
)

// aheadClock is the clock of the machine, moved ahead by the test.
type aheadClock struct {
	environment.Clock
	ahead *atomic.Int64
}

func (c aheadClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.ahead.Load())) }

// Every node answers with the counts of the state and the events of all nodes, also after a restart.
func TestHistoryOverNodes(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.Clock, cfg.Limits.QueueTotals = aheadClock{environment.SystemClock(), &ahead}, 10
	})
	ctx := clustertest.Context(t)
	c.create(c.leader(), fifo)
	sample := func(nodes ...*Node) {
		ahead.Add(int64(history.Step))
		for _, n := range nodes {
			n.sample()
		}
	}
	sample(c.nodes...)
	for i := range c.nodes { // a message through each node
		c.send(i, fifo, string(rune('a'+i)))
	}
	for _, n := range c.nodes {
		clustertest.Must(t, n.CatchUp(ctx))
	}
	sample(c.nodes...)
	total := func(h History, name string, per float64) (sum float64) {
		for _, v := range h.Series[name] {
			if v != nil {
				sum += *v * per
			}
		}
		return sum
	}
	last := func(h History, name string) float64 {
		list := slices.DeleteFunc(slices.Clone(h.Series[name]), func(v *float64) bool { return v == nil })
		if len(list) == 0 {
			return -1
		}
		return *list[len(list)-1]
	}
	check := func(n *Node) {
		t.Helper()
		for _, name := range []string{fifo, ""} {
			h, err := n.History(ctx, name, 15*time.Minute)
			if sent := total(h, "sent", history.Step.Seconds()); err != nil || sent < 2.99 || sent > 3.01 || last(h, "visible") != 3 ||
				len(h.Missing) > 0 {
				t.Errorf("%q: %v sent, %v visible, missing %v, %v", name, sent, last(h, "visible"), h.Missing, err)
			}
			if want := map[string]int{fifo: 0, "": 3}[name]; len(h.Nodes) != want {
				t.Errorf("%q: %d nodes", name, len(h.Nodes))
			}
		}
	}
	for _, n := range c.nodes {
		check(n)
		if rates, known := n.QueueRates(ctx); !known || rates[fifo].Sent <= 0 {
			t.Errorf("rates %v, %t", rates, known)
		}
	}
	at := c.followers()[0]
	c.close(at)
	ahead.Add(int64(history.Step)) // a sample that the node took before it has caught up would be the last
	c.open(at)
	c.waitReady(at)
	check(c.nodes[at])
}
