package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// errDrained is why a drained node is not ready.
var errDrained = errors.New("this node is drained: seriatim cluster uncordon makes it take part again")

// drainTransferPause is between two tries of a drained node to give leadership
// away. If all voters are drained one of them leads all the same: to be served
// by a drained node is better than not to be served.
const drainTransferPause = 10 * time.Second

// Drain prepares the node for being stopped: it is not ready from now on, so
// that load balancers turn away from it, and it gives leadership away and does
// not keep it. Requests that still arrive are answered. It keeps its vote and
// its data; a restart or Uncordon ends it.
func (n *Node) Drain(ctx context.Context) error {
	n.drained.Store(true)
	n.tellDrained(true)
	n.log.Info("draining: this node is not ready and does not lead")
	if !n.group.Leadership().Self || n.votersBeside() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if err := n.TransferLeadership(ctx); err != nil && !errors.Is(err, fault.ErrNotLeader) {
		return err
	}
	return nil
}

// Uncordon ends what Drain began.
func (n *Node) Uncordon() {
	if n.drained.Swap(false) {
		n.tellDrained(false)
		n.log.Info("no longer drained")
	}
}

// tellDrained lets the others know, so that they hand leadership to somebody else.
func (n *Node) tellDrained(drained bool) {
	n.process.gossip.SetDrained(drained)
	n.process.gossip.Announce()
}

// Drained reports whether the node is drained.
func (n *Node) Drained() bool { return n.drained.Load() }

// votersBeside counts the other voters.
func (n *Node) votersBeside() int {
	others := 0
	for _, m := range n.group.Stats().Members {
		if m.Voter && m.NodeID != n.process.nodeID {
			others++
		}
	}
	return others
}

// resignDrained gives away leadership that a drained node was given. ctx ends
// with the tenure.
func (n *Node) resignDrained(ctx context.Context) {
	now := n.cfg.Clock.Monotonic()
	last := n.drainResigned.Load()
	if !n.drained.Load() || n.votersBeside() == 0 {
		return
	}
	if last != 0 && now-time.Duration(last) < drainTransferPause {
		n.log.Warn("this node is drained and leads all the same: no other voter keeps leadership")
		return
	}
	n.drainResigned.Store(int64(max(now, 1)))
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if err := n.TransferLeadership(ctx); err != nil && !errors.Is(err, fault.ErrNotLeader) {
		n.log.Warn("a drained node could not hand leadership over", "error", err)
	}
}
