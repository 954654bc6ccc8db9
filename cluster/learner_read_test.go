package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// A leader that only a learner still hears must not answer: a majority of the
// voters may have elected another one.
func TestLearnersProveNothing(t *testing.T) {
	t.Parallel()
	c, ends := startGrowing(t, 3, func(cfg *Config) {
		cfg.Members.PromoteAfter = time.Hour
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 5*time.Minute, 5*time.Minute, time.Minute
	})
	learner := c.grow(ends, nil)
	c.roles("n1 voter, n2 voter, n3 voter, n4 learner")
	c.create(0, standard)
	c.agree()
	leader := c.leader()
	read := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.nodes[leader].Read(ctx, func(queue.View) error { return nil })
		return err
	}
	clustertest.Must(t, read())
	for _, i := range c.followers() {
		if i != learner {
			c.crash(i)
		}
	}
	if !c.nodes[leader].leads() {
		t.Fatal("it leads no more, so the test proves nothing")
	}
	if err := read(); err == nil {
		t.Error("a read was answered by the word of a learner")
	}
}
