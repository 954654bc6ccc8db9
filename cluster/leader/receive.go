package leader

import (
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// ReceiveRequest is a receive of a client, or another command that waits while there
// is nothing to give.
type ReceiveRequest struct {
	Request
	Command queue.Command // which Frame holds, encoded; Waits reports true
	Wait    time.Duration // 0: short poll; negative: as the queue says
	Waited  time.Duration // of Wait, before this attempt
}

// begin waits until this node serves, and returns how long the receive may wait. What
// ends here has a verdict.
func (c *ReceiveCall) begin() (left time.Duration, o Outcome) {
	select {
	case <-c.serving:
	case <-c.lost:
		return 0, Outcome{Verdict: NotProposed}
	case <-c.ctx.Done():
		return 0, Outcome{Verdict: Expired}
	}
	if c.ctx.Err() != nil { // the select above chooses at random
		return 0, Outcome{Verdict: Expired}
	}
	wait := c.resolveWait(c.Command.QueueName(), c.Wait)
	if err := c.setShortPoll(wait == 0); err != nil {
		c.options.Log.Error("encoding a receive failed", "error", err)
		return 0, Outcome{Verdict: Unsupported}
	}
	left = max(wait-c.Waited, 0)
	c.final = left == 0
	return left, Outcome{}
}

// resolveWait turns "as the queue says" into a time.
func (t *Term) resolveWait(name string, wait time.Duration) time.Duration {
	if wait >= 0 {
		return wait
	}
	return WaitOf(t.options.Replica, name)
}

// WaitOf is how long a receive waits at a queue that says so itself, as far as this
// node knows.
func WaitOf(replica *fsm.FSM, name string) time.Duration {
	seconds := int64(0)
	replica.Read(func(v queue.View) {
		if attributes, err := v.Typed(name); err == nil {
			seconds = attributes.ReceiveWaitSeconds
		}
	})
	return time.Duration(seconds) * time.Second
}

// setShortPoll makes the command say whether its caller waits.
func (c *ReceiveCall) setShortPoll(short bool) error {
	receive, ok := c.Command.(*queue.ReceiveMessages)
	if !ok || receive.ShortPoll == short {
		return nil
	}
	cmd := *receive
	cmd.ShortPoll = short
	frame, err := codec.AppendCommand(nil, &cmd)
	if err != nil {
		return err
	}
	c.Command, c.Frame = &cmd, codec.SameOperation(c.Frame, frame)
	return nil
}

// run goes on until there is an answer, or the receive waits: then it is no longer this
// goroutine's.
func (c *ReceiveCall) run() (o Outcome, parked bool) {
	for {
		if c.worthProposing() {
			if o := c.proposeReceive(); c.ends(o) {
				return o, false
			}
		}
		if c.final {
			o, found := c.emptyAnswer()
			if !found {
				return o, false
			}
			continue // there is something now: let the log decide
		}
		if o, ended, parked := c.waitForMessages(); ended || parked {
			return o, parked
		}
	}
}

// waitForMessages parks the receive, or returns as the queue may have something, has been
// deleted, or the time is up.
func (c *ReceiveCall) waitForMessages() (o Outcome, ended, parked bool) {
	w, ok := c.waiting.add(c.ctx, c.ReceiveRequest, c.wakes > 0, c.resume)
	if !ok {
		return Outcome{Verdict: Overloaded}, true, false
	}
	// What became available before that woke nobody.
	if !c.worthProposing() && c.exists() {
		if c.park(w) {
			return Outcome{}, false, true
		}
		o, ended = c.whyResumed(w)
	}
	o, ended = c.stopWaiting(w, o, ended)
	return o, ended, false
}

// whyResumed tells what ends the waiting of a receive that is not parked any more.
func (c *ReceiveCall) whyResumed(w *waitingReceive) (o Outcome, ended bool) {
	if c.timedOut.Load() {
		c.final = true
		return Outcome{}, false
	}
	select {
	case <-w.woken:
		c.wakes++
	case <-c.ctx.Done():
		return Outcome{Verdict: Expired}, true
	case <-c.lost:
		return Outcome{Verdict: NotProposed}, true
	}
	return Outcome{}, false
}

// stopWaiting ends the waiting, unless it has ended with the outcome already. A turn
// that the receive was given is used up by a receive here, so that the next one is woken
// as soon as this one is answered.
func (c *ReceiveCall) stopWaiting(w *waitingReceive, o Outcome, ended bool) (Outcome, bool) {
	if !c.waiting.remove(w) {
		if !ended && !c.exists() {
			c.final = true
		}
		return o, ended
	}
	defer c.passTurn(w)
	if w.piggybacked != nil {
		return c.awaitPiggybacked(w)
	}
	if ended || !c.worthProposing() {
		return o, ended
	}
	o = c.proposeReceive()
	return o, c.ends(o)
}

// ends reports whether what the log says is the answer: it has a message, or the
// time is up and nothing is left to hand out. One receive moves only so many
// messages to the dead-letter queue and passes only so many that are expired;
// it may find nothing although a message lies behind them.
func (c *ReceiveCall) ends(o Outcome) bool {
	return !o.ReceivedNothing() || c.final && !c.worthProposing()
}

// passTurn lets the next receive of the queue look, if there is something left.
func (c *ReceiveCall) passTurn(w *waitingReceive) {
	c.waiting.release(w)
	if c.worthProposing() {
		c.waiting.available(w.place)
	}
}

// worthProposing reports whether the command would now do something in the log.
func (c *ReceiveCall) worthProposing() (worth bool) {
	c.options.Replica.Read(func(v queue.View) { worth = worthProposing(c.Command, v) })
	return worth
}

func (c *ReceiveCall) exists() (exists bool) {
	c.options.Replica.Read(func(v queue.View) { exists = v.QueueExists(c.Command.QueueName()) })
	return exists
}

// proposeReceive puts the receive into the log.
func (c *ReceiveCall) proposeReceive() Outcome {
	return c.Submit(c.ctx, c.Request)
}

// emptyAnswer is the answer of a receive that found nothing, proven to be true
// at some moment after the receive began. found means that it is not, or may not be.
func (c *ReceiveCall) emptyAnswer() (o Outcome, found bool) {
	// Visibility and delays may have ended without anyone having written it.
	if c.deadlines.due() {
		if _, err := c.pastDue.wait(c.ctx); err != nil {
			return failedRead(c.ctx), false
		}
	}
	index, err := c.reads.wait(c.ctx)
	if err == nil {
		err = c.options.Group.WaitApplied(c.ctx, index)
	}
	if err != nil {
		return failedRead(c.ctx), false
	}
	o.Verdict = Answered
	// One look: the position that the client is told is where there was nothing.
	// Its log time may have moved, by entries about other queues, past what the
	// deadlines has yet to write.
	o.At = PositionOf(c.options.Replica.Read(func(v queue.View) {
		if found = worthProposing(c.Command, v) || v.Overdue(c.Command.QueueName()); found {
			return
		}
		if _, refusal := v.Typed(c.Command.QueueName()); refusal != nil {
			o.Response.Err = refusal
			return
		}
		o.Response.Result = codec.WaitingOf(c.Command).Nothing
	}))
	return o, found
}
