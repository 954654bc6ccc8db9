package cluster

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// After all nodes were down nobody knows a leader whom it could miss, and the
// library waits for a timeout that is long, see suspicion. So a voter that knows
// no leader asks the others whether they know one; if a majority knows none, the
// best placed of those that answered stands. It asks the sooner the less time the
// leader has been unknown: while it is known to be gone, or nodes are starting,
// and not while an election that is under way needs quiet.

// vacancy is a time without a known leader, by the monotonic clock.
type vacancy struct {
	lasts        bool
	since, stood time.Duration // stood is when this node last stood, 0 for never
}

// strandedLooks is for how many silences a voter knows no leader before it takes
// itself for stranded: more than an election takes.
const strandedLooks = 3

// seek looks for a leader where none is known: it stands if nobody else will,
// and asks for help if others may know one. It returns when to look again.
func (s *suspicion) seek(ctx context.Context, v vacancy) (vacancy, time.Duration) {
	none := s.leadership()
	if none.LeaderID != "" || none.Self {
		return vacancy{}, 0
	}
	now := s.clock.Monotonic()
	if !v.lasts {
		v = vacancy{lasts: true, since: now}
	}
	age := now - v.since
	pause := min(max(age/8, suspicionPause), s.silence)
	if !slices.Contains(s.voters(), s.nodeID) {
		return v, pause // it has no cluster yet, or no vote
	}
	// After it stood the library's election takes its course.
	if (v.stood == 0 || now-v.stood >= s.silence) && s.chosen(ctx, doubtQuestion{Vacant: true}) && s.leadership() == none {
		v.stood = now
		s.rise(ctx, slog.LevelInfo, "a majority knows no leader", none) // as at every start of all nodes
	}
	if age >= strandedLooks*s.silence {
		s.askForHelp(ctx)
	}
	return v, pause
}
