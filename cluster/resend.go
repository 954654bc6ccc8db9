package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

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
