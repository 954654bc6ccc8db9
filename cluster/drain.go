package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// errDrained is why a drained node is not ready.
var errDrained = errors.New("this node is drained: seriatim cluster uncordon makes it take part again")

// drainTransferPause is between two attempts of a drained node to hand leadership over.
// If all voters are drained, one of them leads nevertheless, so that clients are served.
const drainTransferPause = 10 * time.Second

// Drain prepares the node for being stopped. It is not ready any more, so that load
// balancers send it no requests, and it hands leadership over whenever it has it.
// Requests that still arrive are answered. It keeps its vote and its data. Uncordon or
// a restart ends the draining.
func (n *Node) Drain(ctx context.Context) error {
	n.drained.Store(true)
	n.tellDrained(true)
	if n.cfg.OnDrain != nil {
		n.cfg.OnDrain(true)
	}
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
		if n.cfg.OnDrain != nil {
			n.cfg.OnDrain(false)
		}
		n.log.Info("no longer drained")
	}
}

// DrainMember drains a member, or ends that, and returns its node id. An empty node is this
// one; another one is asked over the peer port. The error is a *MembershipRefusal if there
// is no such member, or if it cannot do so.
func (n *Node) DrainMember(ctx context.Context, node string, drained bool) (nodeID string, err error) {
	id := n.process.nodeID
	if node != "" {
		list := n.memberList()
		m, refusal := list.find(node)
		if refusal != nil {
			return "", refusal
		}
		id = m.NodeID
	}
	op := opUncordon
	if drained {
		op = opDrain
	}
	if id == n.process.nodeID {
		return id, n.drainHere(ctx, op)
	}
	answer, err := n.askNode(ctx, id, membershipRequest{Op: op, From: n.process.nodeID, Cluster: n.process.clusterID(), Final: true})
	switch {
	case err != nil:
		return id, fmt.Errorf("%w: %w", fault.ErrOutcomeUnknown, err)
	case answer.Verdict == changeDone && answer.Drained == drained:
		return id, nil
	case answer.Verdict == changeUnknown:
		return id, errors.New(answer.Text)
	}
	return id, refused(RefusedPolicy, "ask it yourself: --admin with the address of its admin port alone", "%s did not do it: %s", id, cmp.Or(answer.Text, "its program is older"))
}

// drainHere drains this node or ends that.
func (n *Node) drainHere(ctx context.Context, op string) error {
	if op == opUncordon {
		n.Uncordon()
		return nil
	}
	return n.Drain(ctx)
}

// tellDrained tells the other nodes, so that they do not hand leadership to this one.
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

// resignIfDrained hands leadership over if this node is drained. ctx ends with the
// leader's term.
func (n *Node) resignIfDrained(ctx context.Context) {
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
