package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/queue"
)

// TestAReceiveWithoutALeaderIsRefusedInTime checks a receive without a wait time while there is no
// leader: it waits as long as its queue says, not for the longest possible time (faults.md I14).
func TestAReceiveWithoutALeaderIsRefusedInTime(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) { cfg.Limits.Timeout = time.Second })
	leader := c.leader()
	alone := c.followers()[0]
	c.create(leader, standard)
	c.waitFor("the queue at the follower", func() bool {
		exists := false
		c.nodes[alone].replica.Read(func(v queue.View) { exists = v.QueueExists(standard) })
		return exists
	})
	for i := range c.nodes {
		if i != alone {
			c.crash(i)
		}
	}
	begun := time.Now()
	_, err := c.nodes[alone].Receive(clustertest.Context(t), &queue.ReceiveMessages{Queue: standard}, -1)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("refused after %v", took)
	}
	if !errors.Is(err, fault.ErrUnavailable) && !errors.Is(err, fault.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
}
