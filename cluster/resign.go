package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// A leader that should not lead hands over as soon as another voter may lead. It retries
// at growing intervals and goes on leading meanwhile: such a leader is better than none.
const (
	resignPauseMin = time.Second
	resignPauseMax = 5 * time.Minute
)

// reasonToResign is why this node should not lead, empty if nothing is wrong.
func (n *Node) reasonToResign() string {
	if n.pressure.diskLevel() == diskFull {
		return "its disk is nearly full"
	}
	if off := n.process.clocks.Off(); off != 0 {
		return fmt.Sprintf("its clock is %v off the median of a majority (clock-skew-max)", off.Round(time.Millisecond))
	}
	return ""
}

// resignWhenUnfit hands leadership over while this node should not lead, until the node
// closes.
func (n *Node) resignWhenUnfit() {
	pause, told := resignPauseMin, false
	var next time.Duration // the earliest next attempt, on the monotonic clock
	for {
		changed := n.leaderMayChange()
		var again <-chan time.Time
		reason, now := n.reasonToResign(), n.cfg.Clock.Monotonic()
		switch {
		case reason == "":
			pause, told = resignPauseMin, false
		case !n.leads():
		case now < next:
			again = time.After(next - now)
		case !n.otherMayLead():
			if !told {
				n.log.Error("this node should not lead and does so all the same, as no other can", "reason", reason)
				told = true
			}
			again = time.After(resignPauseMin)
		default:
			n.log.Warn("handing over leadership", "reason", reason)
			n.resign()
			again, next = time.After(pause), now+pause
			pause = min(2*pause, resignPauseMax)
		}
		select {
		case <-n.closing.Done():
			return
		case <-n.fitness:
		case <-n.process.clocks.TrustChanged():
		case <-changed.term:
		case <-changed.leadership:
		case <-again:
		}
	}
}

func (n *Node) resign() {
	ctx, cancel := context.WithTimeout(n.closing, transferTimeout)
	defer cancel()
	if err := n.TransferLeadership(ctx); err != nil && !errors.Is(err, fault.ErrNotLeader) {
		n.log.Warn("leadership could not be handed over", "error", err)
	}
}
