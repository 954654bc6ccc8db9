package election

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// After all nodes were down nobody knows a leader that could be missing, and the
// timeout of the library is long. So a voter that knows no leader asks the others
// whether they know one. If a majority knows none, the best placed of those that
// answered campaigns. A voter asks often at first, while nodes are starting or a
// leader has just gone, and more seldom later, so that it does not disturb an
// election that is under way.

// leaderless is a time without a known leader, by the monotonic clock.
type leaderless struct {
	lasts           bool
	since, campaign time.Duration // campaign: when this node last campaigned, 0 for never
}

// isolatedAfter is for how many silences a voter knows no leader before it takes
// itself for isolated: more than an election takes.
const isolatedAfter = 3

// findLeader is called while no leader may be known. It campaigns if nobody else
// will, and asks for help if others may know a leader. It returns when to look again.
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
		return l, pause // it has no cluster yet, or no vote
	}
	// After a campaign the library's election takes its course.
	if (l.campaign == 0 || now-l.campaign >= d.silence) && d.shouldCampaign(ctx, question{Leaderless: true}) && d.consensus.Leadership() == none {
		l.campaign = now
		d.campaign(ctx, slog.LevelInfo, "a majority knows no leader", none) // as at every start of all nodes
	}
	if age >= isolatedAfter*d.silence {
		d.askForHelp(ctx)
	}
	return l, pause
}
