package membership

import (
	"context"
	"errors"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// removalPause is the time between two checks whether this node is still a member.
const (
	removalPause    = time.Second
	removalPauseMax = 10 * time.Second
)

// watchRemoval ends the process when this node was removed from the cluster. A removed node
// gets no message about it: the leader only stops sending. So a node that knows no leader for
// a while asks the others, which ask the leader. Only the leader's answer counts.
func (c *Coordinator) watchRemoval(ctx context.Context) {
	pause := removalPause
	for {
		changed := c.node.Group.LeadershipChanged()
		if c.node.Group.Leadership().LeaderID != "" {
			pause = removalPause
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
			timer.Stop()
			continue
		case <-timer.C:
			pause = min(2*pause, removalPauseMax)
		}
		if c.wasRemoved(ctx) {
			c.node.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster; with an empty data directory it can "+
				"join again, as a new node"))
			return
		}
	}
}

// wasRemoved asks the other nodes until one returns the leader's answer. Only a node with a
// record of its addition can have been removed.
func (c *Coordinator) wasRemoved(ctx context.Context) bool {
	own := c.node.Bootstrap.Record()
	if !c.node.Bootstrap.HasState() || own.Joined && !own.Added {
		return false
	}
	request := Request{Op: OpIsMember, From: c.node.NodeID, Cluster: own.ClusterID, Node: c.node.NodeID}
	asked := map[string]bool{c.node.NodeID: true}
	ask := func(nodeID string) (removed, answered bool) {
		if asked[nodeID] {
			return false, false
		}
		asked[nodeID] = true
		answer, err := c.askNode(ctx, nodeID, request)
		if err != nil || answer.Verdict != Done {
			return false, false
		}
		return answer.Removed, true
	}
	for _, m := range c.node.Group.Stats().Members {
		if removed, answered := ask(m.NodeID); answered {
			return removed
		}
	}
	for _, seen := range c.node.Gossip.View() {
		if seen.ClusterID != own.ClusterID {
			continue
		}
		if removed, answered := ask(seen.NodeID); answered {
			return removed
		}
	}
	return false
}
