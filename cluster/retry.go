package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// retrySafe reports whether executing r twice is the same as once (decision 10; faults.md
// I12): its line in the table of commands says so. It is asked only when what became of the
// first attempt could not be found out.
func (n *Node) retrySafe(ctx context.Context, r *request) bool {
	repeats := codec.RepeatingOf(r.cmd)
	return repeats.Safe(r.cmd) || repeats.Resend != nil && n.resendSafe(ctx, r, repeats.Resend)
}

// provesNothing reports whether an answer leaves open what an earlier attempt
// of unknown outcome did: a refusal may be the consequence of its success. A
// delete is the exception, as deleting what is deleted is no error, unless it is one
// under a lock.
func (n *Node) provesNothing(r *request, o leader.Outcome) bool {
	if o.Response.Err != nil {
		return true
	}
	switch result := o.Response.Result.(type) {
	case queue.EntriesDone:
		if cmd, deletes := r.cmd.(*queue.DeleteMessages); deletes && cmd.Options == nil {
			return false
		}
		for _, err := range result.Errs {
			if err != nil {
				return true
			}
		}
	case queue.MessagesSent:
		for i := range result.Entries {
			if result.Entries[i].Err != nil {
				return true
			}
		}
	}
	return false
}

// resendSafe reports whether the queue or the topic would recognise every message of a
// send or a publish that may already be in it. The rules are those of now, proven by a
// read barrier. It spares repetitions that would likely be refused; a new leader's
// clock, a purge or a change may still come first, so that repeat has the last word.
func (n *Node) resendSafe(ctx context.Context, r *request, resend *codec.Resending) bool {
	if _, err := n.readBarrier(ctx); err != nil {
		return false
	}
	elapsed := n.cfg.Clock.Monotonic() - r.started
	safe := false
	n.replica.Read(func(v queue.View) {
		seconds, recognised := resend.Window(v, r.cmd)
		safe = recognised && 4*elapsed <= time.Duration(seconds)*time.Second
	})
	return safe
}

// repeated reports whether r is a send or a publish that was made again.
func (r *request) repeated() bool {
	resend := codec.RepeatingOf(r.cmd).Resend
	return resend != nil && resend.Since(r.cmd) != 0
}

// repeat makes a send or a publish that may be in the log one that is refused unless
// what was accepted since is known: until it is applied there may be a purge, a change
// of the rules, or an end of the window by a clock that was ahead.
func (r *request) repeat() error {
	resend := codec.RepeatingOf(r.cmd).Resend
	if resend == nil || r.repeated() {
		return nil
	}
	again := resend.Again(r.cmd, max(r.since, 1))
	frame, err := codec.AppendCommand(nil, again)
	if err == nil {
		r.cmd, r.frame = again, codec.SameOperation(r.frame, frame)
	}
	return err
}
