package route

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// retrySafe reports whether executing r twice is the same as once (decision 10; faults.md I12), by
// its row in the table of commands. It matters only if the outcome of the first attempt could not be
// found out.
func (rt *Router) retrySafe(ctx context.Context, r *request) bool {
	repeats := codec.RepeatingOf(r.cmd)
	return repeats.Safe(r.cmd) || repeats.Resend != nil && rt.resendSafe(ctx, r, repeats.Resend)
}

// provesNothing reports whether an answer leaves the outcome of an earlier attempt open: a refusal
// may be the consequence of its success. A delete without a lock is the exception, because deleting
// a deleted message is no error.
func (rt *Router) provesNothing(r *request, o leader.Outcome) bool {
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

// resendSafe reports whether a send or a publish can be repeated: by the rules after a read barrier,
// the queue or topic still remembers the ids of all its messages. A purge, a change of the rules or
// the clock of a new leader may still come first; then the repeated command is refused, see repeat.
func (rt *Router) resendSafe(ctx context.Context, r *request, resend *codec.Resending) bool {
	if _, err := rt.ReadBarrier(ctx); err != nil {
		return false
	}
	elapsed := rt.node.Monotonic() - r.started
	safe := false
	rt.node.Replica.Read(func(v queue.View) { safe = recognised(v, r.cmd, resend, elapsed) })
	return safe
}

// recognised reports whether the queue or topic of v remembers every message of cmd for well over the
// time since the first attempt.
func recognised(v queue.View, cmd queue.Command, resend *codec.Resending, elapsed time.Duration) bool {
	seconds, remembers := resend.Window(v, cmd)
	return remembers && 4*elapsed <= time.Duration(seconds)*time.Second
}

// repeated reports whether r is a repeated send or publish.
func (r *request) repeated() bool {
	resend := codec.RepeatingOf(r.cmd).Resend
	return resend != nil && resend.Since(r.cmd) != 0
}

// repeat changes a send or a publish that may be in the log: it is now refused unless everything
// accepted since the first attempt is known. A purge, a change of the rules, or a fast clock that
// ends the window may come before it is applied.
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
