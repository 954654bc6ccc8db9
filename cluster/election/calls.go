package election

import (
	"context"
	"slices"
	"time"
)

// A leader may be heard and answer questions, and yet answer no calls: these have
// connections of their own, which may be cut alone, and a server of their own. Then only
// the leader's own clients are served. So one that answers no calls for a heartbeat
// timeout is missing.
//
// It still writes what its own clients send. In an election no log would be as long as
// those of the others by the time that they vote, and the old leader might win the next
// one. But it answers questions: it is asked to hand over, which sends what the successor
// lacks. That must be one whom the others can call, and so a voter agrees only if it can
// call the node that asks. Whose log is longest, and who asks first, is of no matter.

// uncalledPauseMax is for how long a node waits before it asks again, when the others can
// call the leader and it cannot.
const uncalledPauseMax = time.Second

// probeCalls calls a leader that has just answered a question.
func (d *FailureDetector) probeCalls(ctx context.Context, leader Leadership) leaderState {
	called := d.options.Clock.Monotonic()
	switch {
	case d.call(ctx, leader.LeaderID) == nil:
		d.uncalled.answered()
		return leaderAlive
	case d.isUseless(&d.uncalled, leader, called):
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

// takeOver asks a leader that answers no calls to hand over to this node, if a majority of
// the voters misses it as well.
func (d *FailureDetector) takeOver(ctx context.Context, leader Leadership) {
	voters := d.consensus.Voters()
	agreeing := 1 // this node
	d.askVoters(ctx, about(leader), agreementBudget, func(_ string, a answer) {
		if a.Misses {
			agreeing++
		}
	})
	// A learner only has the voters check on the leader: it may be the one node whose clients
	// call.
	if !slices.Contains(voters, d.options.NodeID) || 2*agreeing <= len(voters) || d.consensus.Leadership() != leader {
		return
	}
	q := about(leader)
	q.Successor = d.options.NodeID
	if _, err := d.ask(ctx, leader.LeaderID, q, leaderBudget); err != nil {
		d.options.Log.Debug("the leader could not be asked to hand over", "leader", leader.LeaderID, "error", err)
	}
}
