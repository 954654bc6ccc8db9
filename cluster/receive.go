package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// receiveRequest is a receive on its way to the leader and at it.
type receiveRequest struct {
	cmd            *queue.ReceiveMessages
	frame          []byte // cmd, encoded
	minimumVersion uint32
	id             fsm.RequestID
	wait           time.Duration // 0: short poll; negative: as the queue says
	waited         time.Duration // of wait, before this attempt
	deadline       time.Duration // on the monotonic clock, for proposing; 0: none
}

// receiving is one receive while the leader works on it. Used by one goroutine.
type receiving struct {
	*tenure
	receiveRequest
	timeout <-chan time.Time // ends the waiting of a long poll
	final   bool             // the next empty answer is the answer
	wakes   int              // times it was woken in vain
}

// receive executes a receive at the leader (sqs.md 5). What finds a message is
// a command in the log. What finds none writes nothing: a short poll is
// answered after a read barrier, a long poll waits for an event first. ctx ends
// when the caller hangs up; a receive that was not proposed by then never is.
func (t *tenure) receive(ctx context.Context, request receiveRequest) outcome {
	select {
	case <-t.opened:
	case <-t.lost:
		return outcome{verdict: notProposed}
	case <-ctx.Done():
		return outcome{verdict: expired}
	}
	r := receiving{tenure: t, receiveRequest: request}
	wait := t.resolveWait(request.cmd.Queue, request.wait)
	if err := r.setShortPoll(wait == 0); err != nil {
		t.log.Error("encoding a receive failed", "error", err)
		return outcome{verdict: unsupported}
	}
	if left := wait - request.waited; left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		r.timeout = timer.C
	} else {
		r.final = true
	}
	return r.run(ctx)
}

// resolveWait turns "as the queue says" into a time.
func (t *tenure) resolveWait(name string, wait time.Duration) time.Duration {
	if wait >= 0 {
		return wait
	}
	return waitOf(t.replica, name)
}

// waitOf is how long a receive waits at a queue that says so itself, as far as this
// node knows.
func waitOf(replica *fsm.FSM, name string) time.Duration {
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
	if r.cmd.ShortPoll == short {
		return nil
	}
	cmd := *r.cmd
	cmd.ShortPoll = short
	frame, err := fsm.AppendCommand(nil, &cmd)
	if err != nil {
		return err
	}
	r.cmd, r.frame = &cmd, sameOperation(r.frame, frame)
	return nil
}

func (r *receiving) run(ctx context.Context) outcome {
	for {
		if r.worthProposing() {
			if o := r.proposeReceive(ctx); r.ends(o) {
				return o
			}
		}
		if r.final {
			o, found := r.emptyAnswer(ctx)
			if !found {
				return o
			}
			continue // there is something now: let the log decide
		}
		if o, ended := r.waitForMessages(ctx); ended {
			return o
		}
	}
}

// waitForMessages returns when the queue may have something, has been deleted,
// or the time is up. A turn it was given is used up by a receive here, so that
// the next poll is woken as soon as this one is answered.
func (r *receiving) waitForMessages(ctx context.Context) (o outcome, ended bool) {
	w, ok := r.polls.join(ctx, r.receiveRequest, r.wakes > 0)
	if !ok {
		return outcome{verdict: overloaded}, true
	}
	// What became available before the poll joined woke nobody.
	if !r.worthProposing() && r.exists() {
		select {
		case <-w.woken:
			r.wakes++
		case <-r.timeout:
			r.final = true
		case <-ctx.Done():
			ended, o = true, outcome{verdict: expired}
		case <-r.lost:
			ended, o = true, outcome{verdict: notProposed}
		}
	}
	if !r.polls.leave(w) {
		if !ended && !r.exists() {
			r.final = true
		}
		return o, ended
	}
	defer r.passTurn(w)
	if w.ride != nil {
		return r.rideOut(ctx, w)
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
func (r *receiving) ends(o outcome) bool {
	return !o.receivedNothing() || r.final && !r.worthProposing()
}

// passTurn lets the next poll of the queue look, if there is something left.
func (r *receiving) passTurn(w *poll) {
	r.polls.release(w)
	if r.worthProposing() {
		r.polls.available(w.queue)
	}
}

// worthProposing reports whether a receive in the log would do something: hand
// out a message, repeat what its attempt id was given before, or be refused for
// the in-flight limit, which only short polls are (sqs.md 4.9).
func (r *receiving) worthProposing() (worth bool) {
	r.replica.Read(func(v queue.View) { worth = r.worthProposingIn(v) })
	return worth
}

func (r *receiving) worthProposingIn(v queue.View) bool {
	return v.Deliverable(r.cmd.Queue) ||
		r.cmd.AttemptIDGiven && v.AttemptKnown(r.cmd.Queue, r.cmd.AttemptID) ||
		r.cmd.ShortPoll && v.OverLimit(r.cmd.Queue)
}

// fifoSuffix ends the name of every FIFO queue and of no other.
const fifoSuffix = ".fifo"

func (r *receiving) exists() (exists bool) {
	r.replica.Read(func(v queue.View) { exists = v.QueueExists(r.cmd.Queue) })
	return exists
}

// proposeReceive puts the receive into the log.
func (r *receiving) proposeReceive(ctx context.Context) outcome {
	return r.tenure.submit(ctx, r.id, r.frame, r.minimumVersion, r.deadline)
}

// submit hands a client's command to the committer and waits. A command whose
// ctx ends first is not proposed any more, or its outcome is unknown.
func (t *tenure) submit(ctx context.Context, id fsm.RequestID, frame []byte, minimumVersion uint32, deadline time.Duration) outcome {
	done := make(chan outcome, 1) // one outcome, never blocking the committer
	s := &submission{
		frame:          frame,
		id:             id,
		minimumVersion: minimumVersion,
		deadline:       deadline,
		essential:      !isSend(frame),
		settle:         func(o outcome) { done <- o },
	}
	if ctx.Err() != nil {
		return outcome{verdict: expired}
	}
	if o, refused := t.refuses(frame); refused {
		return o
	}
	t.propose(s)
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
		return s.giveUp()
	}
}

// emptyAnswer is the answer of a receive that found nothing, proven to be true
// at some moment after the receive began. found means that it is not, or may not be.
func (r *receiving) emptyAnswer(ctx context.Context) (o outcome, found bool) {
	// Visibility and delays may have ended without anyone having written it.
	if r.ticker.due() {
		if _, err := r.ticks.wait(ctx); err != nil {
			return outcome{verdict: verdictOfRead(ctx)}, false
		}
	}
	index, err := r.reads.wait(ctx)
	if err == nil {
		err = r.group.WaitApplied(ctx, index)
	}
	if err != nil {
		return outcome{verdict: verdictOfRead(ctx)}, false
	}
	o.verdict = answered
	// One look: the position that the client is told is where there was nothing.
	// Its log time may have moved, by entries about other queues, past what the
	// ticker has yet to write.
	o.at = positionOf(r.replica.Read(func(v queue.View) {
		if found = r.worthProposingIn(v) || v.Overdue(r.cmd.Queue); found {
			return
		}
		if _, refusal := v.Typed(r.cmd.Queue); refusal != nil {
			o.response.Err = refusal
			return
		}
		o.response.Result = queue.MessagesReceived{}
	}))
	return o, found
}

// verdictOfRead classifies a read that failed: nothing was written.
func verdictOfRead(ctx context.Context) verdict {
	if ctx.Err() != nil {
		return expired
	}
	return notProposed
}
