package membership

import (
	"slices"
	"time"
)

// A leader that should not lead hands over as soon as another voter may lead. It retries at
// growing intervals and leads meanwhile: such a leader is better than none.
const (
	resignPauseMin = time.Second
	resignPauseMax = 5 * time.Minute
)

// resignWhenUnfit hands leadership over while this node should not lead, until the node
// closes.
func (c *Coordinator) resignWhenUnfit() {
	pause, logged := resignPauseMin, false
	var next time.Duration // the earliest next attempt, on the monotonic clock
	for {
		leadership, term := c.node.Group.LeadershipChanged(), c.node.TermChanged()
		var again <-chan time.Time
		reason, now := c.node.ReasonToResign(), c.node.Clock.Monotonic()
		switch {
		case reason == "":
			pause, logged = resignPauseMin, false
		case !c.node.Leads():
		case now < next:
			again = time.After(next - now)
		case !c.otherMayLead():
			if !logged {
				c.node.Log.Error("this node should not lead, but no other voter can", "reason", reason)
				logged = true
			}
			again = time.After(resignPauseMin)
		default:
			c.node.Log.Warn("handing over leadership", "reason", reason)
			c.handOver(c.node.Closing)
			again, next = time.After(pause), now+pause
			pause = min(2*pause, resignPauseMax)
		}
		select {
		case <-c.node.Closing.Done():
			return
		case <-c.fitness:
		case <-c.node.Clocks.TrustChanged():
		case <-term:
		case <-leadership:
		case <-again:
		}
	}
}

// otherMayLead reports whether another voter answers that would keep leadership.
func (c *Coordinator) otherMayLead() bool {
	return slices.ContainsFunc(c.Successors(), func(s Candidate) bool { return s.Answers && s.Keeps() })
}
