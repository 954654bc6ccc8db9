package cluster

import (
	"context"
	"slices"
	"time"
)

// After all nodes were down nobody knows a leader whom it could miss, and the
// library waits for a timeout that is long, see suspicion. So a voter that knows
// no leader asks the others whether they know one; if a majority knows none, the
// best placed of those that answered stands. It asks the sooner the less time the
// leader has been unknown: while it is known to be gone, or nodes are starting,
// and not while an election that is under way needs quiet.

// vacancy is how long this node has known no leader.
type vacancy struct {
	since time.Time // zero while there is a leader
	stood time.Time // last in this vacancy
}

// strandedLooks is for how many silences a voter knows no leader before it takes
// itself for stranded: more than an election takes.
const strandedLooks = 3

// pause is until the next look.
func (v vacancy) pause(silence time.Duration) time.Duration {
	return min(max(time.Since(v.since)/8, suspicionPause), silence)
}

// seek looks for a leader where none is known: it stands if nobody else will,
// and asks for help if others may know one.
func (s *suspicion) seek(ctx context.Context, v vacancy) vacancy {
	none := s.leadership()
	if none.LeaderID != "" || none.Self {
		return vacancy{}
	}
	if v.since.IsZero() {
		v.since = time.Now()
	}
	if !slices.Contains(s.voters(), s.nodeID) {
		return v // it has no cluster yet, or no vote
	}
	// After it stood the library's election takes its course.
	if time.Since(v.stood) >= s.silence && s.chosen(ctx, doubtQuestion{Vacant: true}) && s.leadership() == none {
		v.stood = time.Now()
		s.rise("a majority knows no leader", none)
	}
	if time.Since(v.since) >= strandedLooks*s.silence {
		s.askForHelp(ctx)
	}
	return v
}
