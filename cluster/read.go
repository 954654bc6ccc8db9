package cluster

import (
	"context"
	"fmt"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// Read calls read with a state that contains everything acknowledged before the call, by any node. It
// returns the error of read unchanged. read must be short, must not keep the View, and must not call
// the Node.
func (n *Node) Read(ctx context.Context, read func(queue.View) error) (Position, error) {
	if !n.calls.enter() {
		return Position{}, errClosing
	}
	defer n.calls.leave()
	limited, cancel := context.WithTimeout(ctx, n.cfg.Limits.Timeout)
	defer cancel()
	at, err := n.readBarrier(limited)
	if err != nil {
		n.counts.results[resultOf(ctx, err)].Add(1)
		return Position{}, err
	}
	var failed error
	position := leader.PositionOf(n.replica.Read(func(v queue.View) { failed = read(v) }))
	position.Index = max(position.Index, at)
	n.counts.results[resultOf(ctx, failed)].Add(1)
	return position, failed
}

// readBarrier waits until everything acknowledged before the call is applied here. It returns the
// index of that.
func (n *Node) readBarrier(ctx context.Context) (uint64, error) {
	r := &request{kind: forward.ReadIndex}
	o, err := n.route(ctx, r)
	if err != nil {
		return 0, err
	}
	if err := n.waitRead(ctx, r, o); err != nil {
		return 0, fmt.Errorf("%w: waiting for this node to catch up: %w", fault.ErrUnavailable, err)
	}
	return o.At.Index, nil
}

// waitRead waits until the read index of a leader is applied here.
func (n *Node) waitRead(ctx context.Context, r *request, o leader.Outcome) error {
	if r.remote {
		return n.group.WaitRead(ctx, r.term, o.At.Index)
	}
	return n.group.WaitApplied(ctx, o.At.Index)
}

// ReadLocal calls read with the state of this node, which may be behind the rest of the cluster. The
// rules of Read apply to read.
func (n *Node) ReadLocal(read func(queue.View)) { n.replica.Read(read) }

// Access returns the access table of this node.
func (n *Node) Access() *access.Table { return n.replica.Access() }

// CatchUp waits until this node has applied everything acknowledged before the call.
func (n *Node) CatchUp(ctx context.Context) error {
	_, err := n.Read(ctx, func(queue.View) error { return nil })
	return err
}
