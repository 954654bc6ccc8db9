package leader

import "github.com/seriatimq/seriatim/fsm/codec"

// A waiting receive is piggybacked on a send to its queue: its command goes into
// the log right behind the send, nearly always in the same entry, instead of an
// entry of its own after the send is applied. The consumer then waits for the
// disks once and not twice. Like any receive of which another was quicker, it may
// find nothing; then it waits on.

// enqueue hands a client's command to the group committer, and with a send the
// receive that waited longest for one.
func (t *Term) enqueue(s *Submission) {
	if queue, sends := codec.SendsTo(s.Frame); sends {
		if receive := t.waiting.piggyback(queue); receive != nil {
			t.committer.submit(s, receive)
			return
		}
	}
	t.committer.submit(s)
}

// piggybacked is the receive to be proposed behind a send. If there is no room for
// it, its node asks again: a receive that waits is not one too many.
func (r ReceiveRequest) piggybacked(complete func(Outcome)) *Submission {
	return &Submission{
		Request:   r.Request,
		essential: true,
		Complete: func(o Outcome) {
			if o.Verdict == Overloaded {
				o.Verdict = NotProposed
			}
			complete(o)
		},
	}
}

// awaitPiggybacked awaits the outcome of a receive that was piggybacked. The
// waiting has ended if that is an answer.
func (c *ReceiveCall) awaitPiggybacked(w *waitingReceive) (o Outcome, ended bool) {
	select {
	case <-w.woken:
		o = w.outcome
	case <-c.ctx.Done():
		return w.piggybacked.abandon(), true
	}
	if !o.ReceivedNothing() {
		return o, true
	}
	c.waiting.inVain(w)
	return o, c.ends(o)
}
