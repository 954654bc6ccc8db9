package cluster

import (
	"context"
	"fmt"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/queue"
)

// readIndex is one round of the read barrier at the leader. The order matters:
// the index is noted before leadership is verified, else a leader deposed in
// between could have missed newer commits (raft.md A5).
func (t *tenure) readIndex(ctx context.Context) (uint64, error) {
	t.counts.readRounds.Add(1)
	index := t.group.CommitIndex()
	if err := t.group.ConfirmLeadership(ctx, t.term); err != nil {
		return 0, fmt.Errorf("confirming leadership: %w", err)
	}
	return index, nil
}

// Read calls read with a state that contains everything acknowledged before
// the call, by any node. What read returns is returned unchanged; read must be
// short, must not keep the View, and must not call the Node.
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
	position := positionOf(n.replica.Read(func(v queue.View) { failed = read(v) }))
	position.Index = max(position.Index, at)
	n.counts.results[resultOf(ctx, failed)].Add(1)
	return position, failed
}

// readBarrier waits until everything acknowledged before the call is applied
// here, and returns the index up to which that is.
func (n *Node) readBarrier(ctx context.Context) (uint64, error) {
	o, err := n.route(ctx, &request{kind: readIndexRequest})
	if err != nil {
		return 0, err
	}
	if err := n.group.WaitApplied(ctx, o.at.Index); err != nil {
		return 0, fmt.Errorf("%w: waiting for this node to catch up: %w", fault.ErrUnavailable, err)
	}
	return o.at.Index, nil
}

// ReadLocal calls read with the state as far as this node knows it, which may
// be behind the rest of the cluster. The rules of Read hold for read.
func (n *Node) ReadLocal(read func(queue.View)) { n.replica.Read(read) }
