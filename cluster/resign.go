package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// A leader that had better not lead hands over, as soon as there is another to
// hand over to. It asks ever more seldom while nothing comes of it, and goes on
// leading meanwhile: a cluster with a doubtful leader is better than one without.
const (
	resignPauseMin = time.Second
	resignPauseMax = 5 * time.Minute
)

// reconsider lets resigning look again whether this node should lead.
func (n *Node) reconsider() {
	select {
	case n.doubts <- struct{}{}:
	default:
	}
}

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

// watchResignation hands leadership over while there is a reason to, until the
// node closes.
func (n *Node) watchResignation() {
	pause, told := resignPauseMin, false
	var next time.Duration // not again before, on the monotonic clock
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
		case <-n.doubts:
		case <-n.process.clocks.TrustChanged():
		case <-changed.tenure:
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
