package leader

import "github.com/seriatimq/seriatim/fsm/codec"

// A waiting receive is piggybacked on a send to its queue: its command follows the send in the log,
// nearly always in the same entry, so the consumer waits for the disks once instead of twice. Like
// any receive that competes with others, it may find nothing; then it keeps waiting.

// enqueue submits a client's command to the group committer. A send brings along the receive that
// waited longest for one.
func (t *Term) enqueue(s *Submission) {
	if queue, sends := codec.SendsTo(s.Frame); sends {
		if receive := t.waiting.piggyback(queue); receive != nil {
			t.committer.submit(s, receive)
			return
		}
	}
	t.committer.submit(s)
}

// piggybacked returns the receive to propose after a send. Overloaded becomes NotProposed: its node
// retries, because the receive waits already.
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

// awaitPiggybacked waits for the outcome of a piggybacked receive. ended reports that the outcome
// is the answer.
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
