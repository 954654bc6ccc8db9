package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// removalPause is between two checks whether this node is still a member.
const (
	removalPause    = time.Second
	removalPauseMax = 10 * time.Second
)

// watchRemoval ends the process when this node was removed from the cluster. Nobody
// tells a removed node; the leader only stops sending to it. So a node that knows no
// leader for a while asks the others, which ask the leader. Only the leader's answer
// counts.
func (n *Node) watchRemoval(ctx context.Context) {
	pause := removalPause
	for {
		changed := n.group.LeadershipChanged()
		if n.group.Leadership().LeaderID != "" {
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
		if n.wasRemoved(ctx) {
			n.cfg.Fatal(fault.ExitRemoved, errors.New("this node was removed from the cluster; with an empty data directory it can join again, as a new node"))
			return
		}
	}
}

// wasRemoved asks the other nodes until one has the leader's answer. Only a node that
// knows that it was added can have been removed.
func (n *Node) wasRemoved(ctx context.Context) bool {
	own := n.process.bootstrap.membership()
	if !n.process.bootstrap.hasState() || own.Joined && !own.Added {
		return false
	}
	request := membershipRequest{Op: opIsMember, From: n.process.nodeID, Cluster: own.ClusterID, Node: n.process.nodeID}
	asked := map[string]bool{n.process.nodeID: true}
	ask := func(nodeID string) (removed, answered bool) {
		if asked[nodeID] {
			return false, false
		}
		asked[nodeID] = true
		answer, err := n.askNode(ctx, nodeID, request)
		if err != nil || answer.Verdict != changeDone {
			return false, false
		}
		return answer.Removed, true
	}
	for _, m := range n.group.Stats().Members {
		if removed, answered := ask(m.NodeID); answered {
			return removed
		}
	}
	for _, seen := range n.process.gossip.View() {
		if seen.ClusterID != own.ClusterID {
			continue
		}
		if removed, answered := ask(seen.NodeID); answered {
			return removed
		}
	}
	return false
}
