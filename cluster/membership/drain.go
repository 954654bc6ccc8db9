package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// ErrDrained is the reason why a drained node is not ready.
var ErrDrained = errors.New("this node is drained: seriatim cluster uncordon makes it take part again")

// drainTransferPause is the time between two attempts of a drained node to hand leadership
// over. If all voters are drained, one of them leads, so that clients are served.
const drainTransferPause = 10 * time.Second

// Drain prepares the node for a stop. It stops being ready, so that load balancers send it no
// requests, and hands leadership over whenever it leads. It still answers requests that
// arrive, and keeps its vote and its data. Uncordon or a restart ends the draining.
func (c *Coordinator) Drain(ctx context.Context) error {
	c.drained.Store(true)
	c.announceDrained(true)
	if c.node.OnDrain != nil {
		c.node.OnDrain(true)
	}
	c.node.Log.Info("draining: this node is not ready and does not lead")
	if !c.node.Group.Leadership().Self || c.OtherVoters() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, TransferTimeout)
	defer cancel()
	if err := c.TransferLeadership(ctx); err != nil && !errors.Is(err, fault.ErrNotLeader) {
		return err
	}
	return nil
}

// Uncordon ends the draining.
func (c *Coordinator) Uncordon() {
	if c.drained.Swap(false) {
		c.announceDrained(false)
		if c.node.OnDrain != nil {
			c.node.OnDrain(false)
		}
		c.node.Log.Info("no longer drained")
	}
}

// DrainMember drains a member, or ends that, and returns its node id. An empty name is this
// node; another node gets a request over the peer port. The error is a *MembershipRefusal if
// there is no such member, or if it cannot do so.
func (c *Coordinator) DrainMember(ctx context.Context, node string, drained bool) (nodeID string, err error) {
	id := c.node.NodeID
	if node != "" {
		list := c.memberList()
		m, refusal := list.find(node)
		if refusal != nil {
			return "", refusal
		}
		id = m.NodeID
	}
	op := OpUncordon
	if drained {
		op = OpDrain
	}
	if id == c.node.NodeID {
		return id, c.drainHere(ctx, op)
	}
	answer, err := c.askNode(ctx, id, Request{Op: op, From: c.node.NodeID, Cluster: c.clusterID(), Final: true})
	switch {
	case err != nil:
		return id, fmt.Errorf("%w: %w", fault.ErrOutcomeUnknown, err)
	case answer.Verdict == Done && answer.Drained == drained:
		return id, nil
	case answer.Verdict == Unknown:
		return id, errors.New(answer.Text)
	}
	return id, refused(RefusedPolicy, "ask it yourself: --admin with the address of its admin port alone", "%s did not do it: %s", id,
		cmp.Or(answer.Text, "its program is older"))
}

// drainHere drains this node or ends that.
func (c *Coordinator) drainHere(ctx context.Context, op string) error {
	if op == OpUncordon {
		c.Uncordon()
		return nil
	}
	return c.Drain(ctx)
}

// announceDrained tells the other nodes, so that they do not hand leadership to this one.
func (c *Coordinator) announceDrained(drained bool) {
	c.node.Gossip.SetDrained(drained)
	c.node.Gossip.Announce()
}

// Drained reports whether the node is drained.
func (c *Coordinator) Drained() bool { return c.drained.Load() }

// resignIfDrained hands leadership over if this node is drained. ctx ends with the leader's
// term.
func (c *Coordinator) resignIfDrained(ctx context.Context) {
	now := c.node.Clock.Monotonic()
	last := c.drainResigned.Load()
	if !c.drained.Load() || c.OtherVoters() == 0 {
		return
	}
	if last != 0 && now-time.Duration(last) < drainTransferPause {
		c.node.Log.Warn("this node is drained but leads: no other voter keeps leadership")
		return
	}
	c.drainResigned.Store(int64(max(now, 1)))
	c.handOver(ctx)
}
