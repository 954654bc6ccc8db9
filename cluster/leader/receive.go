package leader

import (
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// ReceiveRequest is a receive of a client, or another command that waits while it finds nothing.
type ReceiveRequest struct {
	Request
	Command queue.Command // which Frame encodes; the table of commands lets it wait
	Wait    time.Duration // 0: short poll; negative: the default of the queue
	Waited  time.Duration // part of Wait before this attempt
}

// begin waits until this node serves, and returns the time that the receive may wait. If o has a
// verdict, the receive ends here.
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
	wait := c.Wait
	if wait < 0 {
		wait = WaitOf(c.options.Replica, c.Command.QueueName())
	}
	if err := c.setShortPoll(wait == 0); err != nil {
		c.options.Log.Error("encoding a receive failed", "error", err)
		return 0, Outcome{Verdict: Unsupported}
	}
	left = max(wait-c.Waited, 0)
	c.final = left == 0
	return left, Outcome{}
}

// WaitOf returns the ReceiveMessageWaitTimeSeconds of a queue in the state of this node.
func WaitOf(replica *fsm.FSM, name string) time.Duration {
	seconds := int64(0)
	replica.Read(func(v queue.View) {
		if attributes, err := v.Typed(name); err == nil {
			seconds = attributes.ReceiveWaitSeconds
		}
	})
	return time.Duration(seconds) * time.Second
}

// setShortPoll sets the ShortPoll flag of the command.
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

// run executes the receive until there is an answer or it is suspended. A suspended receive no longer
// belongs to this goroutine.
func (c *ReceiveCall) run() (o Outcome, suspended bool) {
	for {
		if c.worthProposing() || c.mustBeNoted() {
			if o := c.Submit(c.ctx, c.Request); c.ends(o) {
				return o, false
			}
		}
		if c.final {
			o, found := c.emptyAnswer()
			if !found {
				return o, false
			}
			continue // the queue may have a message now: the log decides
		}
		if o, ended, suspended := c.waitForMessages(); ended || suspended {
			return o, suspended
		}
	}
}

// waitForMessages suspends the receive. It returns at once if the queue may have a message or was
// deleted, or if the time is up.
func (c *ReceiveCall) waitForMessages() (o Outcome, ended, suspended bool) {
	w, ok := c.waiting.add(c.ctx, c.ReceiveRequest, c.wakes > 0, c.resume)
	if !ok {
		return Outcome{Verdict: Overloaded}, true, false
	}
	// A message that became available before add woke no receive.
	if !c.worthProposing() && c.exists() {
		if c.suspend(w) {
			return Outcome{}, false, true
		}
		o, ended = c.resumeReason(w)
	}
	o, ended = c.stopWaiting(w, o, ended)
	return o, ended, false
}

// resumeReason handles the event that ended a wait.
func (c *ReceiveCall) resumeReason(w *waitingReceive) (o Outcome, ended bool) {
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

// stopWaiting ends the wait, unless the outcome has ended it already. A receive that was woken uses
// its turn here, so that the next receive is woken as soon as this one is answered.
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
	o = c.Submit(c.ctx, c.Request)
	return o, c.ends(o)
}

// ends reports whether an outcome from the log is the answer: it has a message, or the time is up
// and no message is left. One receive moves a bounded number of messages to the dead-letter queue
// and skips a bounded number of expired messages; it may miss a message behind them.
func (c *ReceiveCall) ends(o Outcome) bool {
	return !o.ReceivedNothing() || c.final && !c.worthProposing()
}

// passTurn wakes the next receive of the queue if a message is left.
func (c *ReceiveCall) passTurn(w *waitingReceive) {
	c.waiting.release(w)
	if c.worthProposing() {
		c.waiting.available(w.place)
	}
}

// worthProposing reports whether the command would change the state now.
func (c *ReceiveCall) worthProposing() (worth bool) {
	c.options.Replica.Read(func(v queue.View) { worth = worthProposing(c.Command, v) })
	return worth
}

// mustBeNoted reports whether the log must have the command though it finds nothing, because it is a use of an
// entity that is deleted when it is idle.
func (c *ReceiveCall) mustBeNoted() bool {
	var from queue.Timestamp
	c.options.Replica.Read(func(v queue.View) { from = v.UnnotedFrom(c.Command.QueueName()) })
	return from != 0 && from <= c.logTime.now()
}

// worthProposing reports whether a command would change the state. The table of commands decides for
// those that wait.
func worthProposing(cmd queue.Command, v queue.View) bool {
	w := codec.WaitingOf(cmd)
	return w == nil || w.Worth(cmd, v)
}

func (c *ReceiveCall) exists() (exists bool) {
	c.options.Replica.Read(func(v queue.View) { exists = v.QueueExists(c.Command.QueueName()) })
	return exists
}

// emptyAnswer returns the empty answer, proven to be true at some moment after the receive began. If
// found is true, the queue has or may have a message.
func (c *ReceiveCall) emptyAnswer() (o Outcome, found bool) {
	// Visibility timeouts and delays may have ended without an entry in the log.
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
	// One read: the queue was empty at the position in the answer. Entries about other queues may
	// have moved its log time past deadlines that are not written yet.
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
