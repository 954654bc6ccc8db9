package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
)

// hold waits until no entry of this leader is in flight, and lets none start until release. The
// library does not specify the outcome of entries in flight when it hands over. If there are none,
// clients notice only a short wait.
func (n *Node) hold(ctx context.Context) (release func(), err error) {
	t := n.term.Load()
	if t == nil {
		return func() {}, nil
	}
	if release, err = t.Hold(ctx); err != nil {
		return nil, fmt.Errorf("waiting for the entries in flight: %w", err)
	}
	return release, nil
}

// Close stops the node: it ends waiting receives, hands leadership to another node, finishes calls
// in progress as far as ctx allows, and closes the log. Call it once.
func (n *Node) Close(ctx context.Context) error {
	n.Calls.Close()
	n.handOver(ctx)
	n.finish(ctx)
	if err := closeParts(n.process, n.group); err != nil {
		return fmt.Errorf("closing the log: %w", err)
	}
	return nil
}

// finish ends everything above the log, in an order in which every caller gets its answer.
func (n *Node) finish(ctx context.Context) {
	n.stages.beginClosing()
	n.follower.Wait()    // all proposals of this node are answered
	n.stopServing(ctx)   // the answers of other nodes are sent
	n.Calls.Drained(ctx) // the callers of this node have theirs
	n.stages.endLife()
	n.running.Wait()
}

// stopServing waits until the other nodes close their streams, which they do once all their calls
// are answered.
func (n *Node) stopServing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, membership.TransferTimeout)
	defer cancel()
	n.server.Close(ctx)
}

// handOver hands leadership over while this node can still answer.
func (n *Node) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, membership.TransferTimeout)
	defer cancel()
	alone := n.members.OtherVoters() == 0
	if err := n.TransferLeadership(ctx); err != nil && !alone && !errors.Is(err, fault.ErrNotLeader) {
		n.log.Warn("stopping as leader, the others have to elect one", "error", err)
	}
}
