package cluster

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// series are the values that a node exports, by name and labels.
func series(t *testing.T, n *Node) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, m := range n.Metrics() {
		key := fmt.Sprint(m.Name, m.Labels)
		if _, twice := values[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		values[key] = m.Value
	}
	return values
}

// The voter whose disk was lost and the learner that replaces it have the same node name.
func TestMembersOfTheSameNameHaveTheirOwnSeries(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	ctx := clustertest.Context(t)
	// n1 leads, so that the leader has heard from n3 before n3 loses its disk.
	clustertest.Must(t, c.nodes[0].MoveLeadership(ctx, Change{Node: "n1"}))
	waitForLag := func(peer string) {
		t.Helper()
		c.waitFor("the lag of "+peer, func() bool {
			_, found := series(t, c.nodes[c.leader()])["seriatim_raft_peer_lag_entries[{peer "+peer+"}]"]
			return found || t.Failed()
		})
	}
	waitForLag("n3")
	c.crash(2)
	c.wipe(2)
	c.open(2)
	list := c.roles("n1 voter, n2 voter, n3 voter, n3 learner")
	waitForLag(c.nodes[2].process.nodeID)
	c.waitReady(2)
	clustertest.Must(t, c.nodes[0].ReplaceMember(ctx, Change{Node: "n3", IfIndex: list.Index}))
	waitForLag("n3")
}
