package cluster

import (
	"context"

	"github.com/seriatimq/seriatim/fsm"
)

// A waiting receive rides along with a send to its queue: its command goes into
// the log right behind the send, nearly always in the same entry, instead of an
// entry of its own after the send is applied. The consumer then waits for the
// disks once and not twice. A ride may find nothing, like any receive of which
// another was quicker; then it waits on.

// propose hands a client's command to the committer, and with a send the receive
// that waited longest for one.
func (t *tenure) propose(s *submission) {
	if queue, sends := fsm.SendsTo(s.frame); sends {
		if ride := t.polls.board(queue); ride != nil {
			t.committer.submit(s, ride)
			return
		}
	}
	t.committer.submit(s)
}

// submission is the receive as a ride. If there is no room for it, its node asks
// again: a receive that waits is not one too many.
func (r receiveRequest) submission(settle func(outcome)) *submission {
	return &submission{
		frame:          r.frame,
		id:             r.id,
		minimumVersion: r.minimumVersion,
		deadline:       r.deadline,
		essential:      true,
		settle: func(o outcome) {
			if o.verdict == overloaded {
				o.verdict = notProposed
			}
			settle(o)
		},
	}
}

// rideOut awaits the outcome of a poll's ride. The waiting has ended if that is
// an answer.
func (r *receiving) rideOut(ctx context.Context, w *poll) (o outcome, ended bool) {
	select {
	case <-w.woken:
		o = w.outcome
	case <-ctx.Done():
		return w.ride.giveUp(), true
	}
	if !o.receivedNothing() {
		return o, true
	}
	r.polls.inVain(w)
	return o, r.ends(o)
}
