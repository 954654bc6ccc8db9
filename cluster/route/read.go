package route

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
func (rt *Router) Read(ctx context.Context, read func(queue.View) error) (leader.Position, error) {
	if !rt.Calls.Enter() {
		return leader.Position{}, ErrClosing
	}
	defer rt.Calls.Leave()
	limited, cancel := context.WithTimeout(ctx, rt.node.Timeout)
	defer cancel()
	at, err := rt.ReadBarrier(limited)
	if err != nil {
		rt.Counts.results[resultOf(ctx, err)].Add(1)
		return leader.Position{}, err
	}
	var failed error
	position := leader.PositionOf(rt.node.Replica.Read(func(v queue.View) { failed = read(v) }))
	position.Index = max(position.Index, at)
	rt.Counts.results[resultOf(ctx, failed)].Add(1)
	return position, failed
}

// ReadBarrier waits until everything acknowledged before the call is applied here. It returns the
// index of that.
func (rt *Router) ReadBarrier(ctx context.Context) (uint64, error) {
	r := &request{kind: forward.ReadIndex}
	o, err := rt.route(ctx, r)
	if err != nil {
		return 0, err
	}
	if err := rt.waitRead(ctx, r, o); err != nil {
		return 0, fmt.Errorf("%w: waiting for this node to catch up: %w", fault.ErrUnavailable, err)
	}
	return o.At.Index, nil
}

// waitRead waits until the read index of a leader is applied here.
func (rt *Router) waitRead(ctx context.Context, r *request, o leader.Outcome) error {
	if r.remote {
		return rt.node.Group.WaitRead(ctx, r.term, o.At.Index)
	}
	return rt.node.Group.WaitApplied(ctx, o.At.Index)
}

// ReadLocal calls read with the state of this node, which may be behind the rest of the cluster. The
// rules of Read apply to read.
func (rt *Router) ReadLocal(read func(queue.View)) { rt.node.Replica.Read(read) }

// Access returns the access table of this node.
func (rt *Router) Access() *access.Table { return rt.node.Replica.Access() }

// CatchUp waits until this node has applied everything acknowledged before the call.
func (rt *Router) CatchUp(ctx context.Context) error {
	_, err := rt.Read(ctx, func(queue.View) error { return nil })
	return err
}

// CatchUpAfterStart asks a leader for the commit index and waits until that is applied here. The
// commit index that a node has at first is older: it is from its own log, or from messages sent before
// its start. By that index the node would seem to be complete, although it may need a whole snapshot.
// A rolling restart would then stop the next node too early.
func (rt *Router) CatchUpAfterStart() (caughtUp bool) {
	for rt.node.Closing.Err() == nil {
		change := rt.leaderMayChange()
		if rt.node.Group.Leadership().LeaderID == "" {
			select {
			case <-rt.node.Closing.Done():
			case <-change.leadership:
			}
			continue
		}
		ctx, cancel := context.WithTimeout(rt.node.Closing, rt.node.Timeout)
		_, err := rt.ReadBarrier(ctx)
		cancel()
		if err == nil {
			return true
		}
		rt.pause(rt.node.Closing, change, retryPauseMax)
	}
	return false
}
