package election

import (
	"context"
	"sync"
	"sync/atomic"
)

// A leader may be heard and answer questions, and yet answer no calls: these have
// connections of their own, which may be cut alone, and a server of their own. Then only
// the leader's own clients are served. So one that answers no calls for a heartbeat
// timeout is missing.
//
// The next leader must be one that the others can call. Who cannot call a majority
// is taken to be one that cannot be called, either: it does not campaign, and the others
// do not wait for it. Two such nodes would otherwise take turns as leaders.

// calls is what a node knows of calls.
type calls struct {
	failed unanswered  // those to the leader
	unfit  atomic.Bool // this node calls no majority, and should not lead
}

// probeCalls calls a leader that has just answered a question.
func (d *FailureDetector) probeCalls(ctx context.Context, leader Leadership) leaderState {
	called := d.options.Clock.Monotonic()
	switch {
	case d.call(ctx, leader.LeaderID) == nil:
		d.calls.failed.answered()
		return leaderAlive
	case d.isUseless(&d.calls.failed, leader, called):
		return leaderUncalled
	default:
		return leaderUnclear
	}
}

func (d *FailureDetector) call(ctx context.Context, nodeID string) error {
	ctx, cancel := context.WithTimeout(ctx, leaderBudget)
	defer cancel()
	return d.options.Call(ctx, nodeID)
}

// callsMajority reports whether a majority without the leader answers this node's calls,
// or is this node.
func (d *FailureDetector) callsMajority(ctx context.Context, leaderID string) bool {
	voters := d.consensus.Voters()
	var calling sync.WaitGroup
	var answering atomic.Int32
	for _, voter := range voters {
		switch voter {
		case leaderID:
		case d.options.NodeID:
			answering.Add(1)
		default:
			calling.Go(func() {
				if d.call(ctx, voter) == nil {
					answering.Add(1)
				}
			})
		}
	}
	calling.Wait()
	return 2*int(answering.Load()) > len(voters)
}
