package election

import (
	"context"
	"slices"
	"time"
)

// A leader may answer questions and yet answer no calls, which have connections and a server of
// their own. Then only its own clients are served. A leader that answers no calls for a heartbeat
// timeout is replaced.
//
// An election would not do: the leader still writes for its own clients, so its log is the longest
// and it might win again. Instead, a voter asks it to hand over, which brings the successor up to
// date. The other voters must be able to call the successor, so each agrees only if it can call the
// node that asks.

// uncalledPauseMax bounds the pause before a node asks again, if the others can call the leader.
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

// takeOver asks a leader that answers no calls to hand over to this node, if a majority of the
// voters finds the leader missing, too.
func (d *FailureDetector) takeOver(ctx context.Context, leader Leadership) {
	voters := d.consensus.Voters()
	agreeing := 1 // this node
	d.askVoters(ctx, about(leader), agreementBudget, func(_ string, a answer) {
		if a.Misses {
			agreeing++
		}
	})
	// A learner only makes the voters check the leader: its clients may be the only ones that call.
	if !slices.Contains(voters, d.options.NodeID) || 2*agreeing <= len(voters) || d.consensus.Leadership() != leader {
		return
	}
	q := about(leader)
	q.Successor = d.options.NodeID
	if _, err := d.ask(ctx, leader.LeaderID, q, leaderBudget); err != nil {
		d.options.Log.Debug("the leader could not be asked to hand over", "leader", leader.LeaderID, "error", err)
	}
}
