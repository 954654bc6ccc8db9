package leader

import (
	"context"
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

// receiving is one receive while the leader works on it. Used by one goroutine at a time.
type receiving struct {
	*Term
	ReceiveRequest
	timeout <-chan time.Time // ends the waiting of a long poll
	call    *ReceiveCall     // that this is of, which waits without a goroutine; nil: this one waits
	final   bool             // the next empty answer is the answer
	wakes   int              // times it was woken in vain
}

// Receive executes a receive at the leader (sqs.md 5). What finds a message is
// a command in the log. What finds none writes nothing: a short poll is
// answered after a read barrier, a long poll waits for an event first. ctx ends
// when the caller hangs up; a receive that was not proposed by then never is.
func (t *Term) Receive(ctx context.Context, request ReceiveRequest) Outcome {
	r := receiving{Term: t, ReceiveRequest: request}
	left, o := r.begin(ctx)
	if o.Verdict != 0 {
		return o
	}
	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		r.timeout = timer.C
	}
	o, _ = r.run(ctx)
	return o
}

// begin waits until this node serves, and returns how long the receive may wait. What
// ends here has a verdict.
func (r *receiving) begin(ctx context.Context) (left time.Duration, o Outcome) {
	select {
	case <-r.serving:
	case <-r.lost:
		return 0, Outcome{Verdict: NotProposed}
	case <-ctx.Done():
		return 0, Outcome{Verdict: Expired}
	}
	if ctx.Err() != nil { // the select above chooses at random
		return 0, Outcome{Verdict: Expired}
	}
	wait := r.resolveWait(r.Command.QueueName(), r.Wait)
	if err := r.setShortPoll(wait == 0); err != nil {
		r.options.Log.Error("encoding a receive failed", "error", err)
		return 0, Outcome{Verdict: Unsupported}
	}
	left = max(wait-r.Waited, 0)
	r.final = left == 0
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
func (r *receiving) setShortPoll(short bool) error {
	receive, ok := r.Command.(*queue.ReceiveMessages)
	if !ok || receive.ShortPoll == short {
		return nil
	}
	cmd := *receive
	cmd.ShortPoll = short
	frame, err := codec.AppendCommand(nil, &cmd)
	if err != nil {
		return err
	}
	r.Command, r.Frame = &cmd, codec.SameOperation(r.Frame, frame)
	return nil
}

// run goes on until there is an answer, or the receive waits without a goroutine: then
// it is no longer this one's.
func (r *receiving) run(ctx context.Context) (o Outcome, parked bool) {
	for {
		if r.worthProposing() {
			if o := r.proposeReceive(ctx); r.ends(o) {
				return o, false
			}
		}
		if r.final {
			o, found := r.emptyAnswer(ctx)
			if !found {
				return o, false
			}
			continue // there is something now: let the log decide
		}
		if o, ended, parked := r.waitForMessages(ctx); ended || parked {
			return o, parked
		}
	}
}

// waitForMessages returns when the queue may have something, has been deleted,
// or the time is up. Or the receive is parked.
func (r *receiving) waitForMessages(ctx context.Context) (o Outcome, ended, parked bool) {
	w, ok := r.waiting.add(ctx, r.ReceiveRequest, r.wakes > 0, r.call.resumes())
	if !ok {
		return Outcome{Verdict: Overloaded}, true, false
	}
	// What became available before that woke nobody.
	if !r.worthProposing() && r.exists() {
		if r.call != nil && r.call.park(w) {
			return Outcome{}, false, true
		}
		o, ended = r.awaitWakeup(ctx, w)
	}
	o, ended = r.stopWaiting(ctx, w, o, ended)
	return o, ended, false
}

// awaitWakeup waits for what ends the waiting. A call that was resumed has it.
func (r *receiving) awaitWakeup(ctx context.Context, w *waitingReceive) (o Outcome, ended bool) {
	if r.call != nil && r.call.timedOut.Load() {
		r.final = true
		return Outcome{}, false
	}
	select {
	case <-w.woken:
		r.wakes++
	case <-r.timeout:
		r.final = true
	case <-ctx.Done():
		return Outcome{Verdict: Expired}, true
	case <-r.lost:
		return Outcome{Verdict: NotProposed}, true
	}
	return Outcome{}, false
}

// stopWaiting ends the waiting, unless it has ended with the outcome already. A turn
// that the receive was given is used up by a receive here, so that the next one is woken
// as soon as this one is answered.
func (r *receiving) stopWaiting(ctx context.Context, w *waitingReceive, o Outcome, ended bool) (Outcome, bool) {
	if !r.waiting.remove(w) {
		if !ended && !r.exists() {
			r.final = true
		}
		return o, ended
	}
	defer r.passTurn(w)
	if w.piggybacked != nil {
		return r.awaitPiggybacked(ctx, w)
	}
	if ended || !r.worthProposing() {
		return o, ended
	}
	o = r.proposeReceive(ctx)
	return o, r.ends(o)
}

// ends reports whether what the log says is the answer: it has a message, or the
// time is up and nothing is left to hand out. One receive moves only so many
// messages to the dead-letter queue and passes only so many that are expired;
// it may find nothing although a message lies behind them.
func (r *receiving) ends(o Outcome) bool {
	return !o.ReceivedNothing() || r.final && !r.worthProposing()
}

// passTurn lets the next receive of the queue look, if there is something left.
func (r *receiving) passTurn(w *waitingReceive) {
	r.waiting.release(w)
	if r.worthProposing() {
		r.waiting.available(w.place)
	}
}

// worthProposing reports whether the command would now do something in the log.
func (r *receiving) worthProposing() (worth bool) {
	r.options.Replica.Read(func(v queue.View) { worth = worthProposing(r.Command, v) })
	return worth
}

func (r *receiving) exists() (exists bool) {
	r.options.Replica.Read(func(v queue.View) { exists = v.QueueExists(r.Command.QueueName()) })
	return exists
}

// proposeReceive puts the receive into the log.
func (r *receiving) proposeReceive(ctx context.Context) Outcome {
	return r.Submit(ctx, r.Request)
}

// emptyAnswer is the answer of a receive that found nothing, proven to be true
// at some moment after the receive began. found means that it is not, or may not be.
func (r *receiving) emptyAnswer(ctx context.Context) (o Outcome, found bool) {
	// Visibility and delays may have ended without anyone having written it.
	if r.deadlines.due() {
		if _, err := r.pastDue.wait(ctx); err != nil {
			return failedRead(ctx), false
		}
	}
	index, err := r.reads.wait(ctx)
	if err == nil {
		err = r.options.Group.WaitApplied(ctx, index)
	}
	if err != nil {
		return failedRead(ctx), false
	}
	o.Verdict = Answered
	// One look: the position that the client is told is where there was nothing.
	// Its log time may have moved, by entries about other queues, past what the
	// deadlines has yet to write.
	o.At = PositionOf(r.options.Replica.Read(func(v queue.View) {
		if found = worthProposing(r.Command, v) || v.Overdue(r.Command.QueueName()); found {
			return
		}
		if _, refusal := v.Typed(r.Command.QueueName()); refusal != nil {
			o.Response.Err = refusal
			return
		}
		o.Response.Result = nothingFor(r.Command)
	}))
	return o, found
}
