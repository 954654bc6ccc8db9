package election

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// After an outage of all nodes, no node knows a leader to miss, and the library's timeout is long.
// A voter that knows no leader asks the others. If a majority knows none, the best candidate among
// those that answered campaigns. A voter asks often at first and more rarely later, so that it does
// not disturb an election.

// leaderless is a period without a known leader, on the monotonic clock.
type leaderless struct {
	lasts           bool
	since, campaign time.Duration // campaign: time of this node's last campaign, 0: none
}

// isolatedAfter times Silence is the period without a leader after which a voter considers itself
// isolated. It exceeds an election.
const isolatedAfter = 3

// findLeader handles a period without a known leader. It campaigns if this node is the best
// candidate, and asks for help if the others may know a leader. It returns the pause before its
// next call.
func (d *FailureDetector) findLeader(ctx context.Context, l leaderless) (leaderless, time.Duration) {
	none := d.consensus.Leadership()
	if none.LeaderID != "" || none.Self {
		return leaderless{}, 0
	}
	now := d.options.Clock.Monotonic()
	if !l.lasts {
		l = leaderless{lasts: true, since: now}
	}
	age := now - l.since
	pause := min(max(age/8, retryPauseMax), d.silence)
	if !slices.Contains(d.consensus.Voters(), d.options.NodeID) {
		return l, pause // no cluster yet, or no vote
	}
	// After a campaign, the library's election needs time.
	if (l.campaign == 0 || now-l.campaign >= d.silence) && d.shouldCampaign(ctx, question{Leaderless: true}) &&
		d.consensus.Leadership() == none {
		l.campaign = now
		d.campaign(ctx, slog.LevelInfo, "a majority knows no leader", none) // as at every start of all nodes
	}
	if age >= isolatedAfter*d.silence {
		d.askForHelp(ctx)
	}
	return l, pause
}
