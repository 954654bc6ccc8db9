package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// waitSecondsMax is the longest a receive can wait, for whatever reason.
const waitSecondsMax = limits.WaitSecondsMax * time.Second

// Receive executes a receive, waiting up to wait for a message: 0 is a short
// poll, and a negative wait means the queue's ReceiveMessageWaitTimeSeconds.
// Nothing is received for a ctx that ended before. Errors are those of Submit.
func (n *Node) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (Reply, error) {
	wait = min(wait, waitSecondsMax)
	timeout := wait
	if wait < 0 {
		// The leader decides how long it waits. A node that has none must not wait for
		// one longer than the queue would let it.
		wait, timeout = -time.Millisecond, leader.WaitOf(n.replica, cmd.Queue)
	}
	if short := wait == 0; cmd.ShortPoll != short {
		changed := *cmd
		changed.ShortPoll = short
		cmd = &changed
	}
	return n.waitFor(ctx, cmd, wait, timeout)
}

// AcceptSession locks a session. If the command names none, it waits up to wait for one
// that is free, and answers with a zero SessionLocked if there is none by then. Errors
// are those of Submit.
func (n *Node) AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (Reply, error) {
	if cmd.SessionIDGiven {
		return n.Submit(ctx, cmd)
	}
	wait = min(max(wait, 0), waitSecondsMax)
	return n.waitFor(ctx, cmd, wait, wait)
}

// waitFor executes a command that waits at the leader. A node that has none waits for
// one as long as timeout, and the time that any command has.
func (n *Node) waitFor(ctx context.Context, cmd queue.Command, wait, timeout time.Duration) (Reply, error) {
	return n.call(ctx, &request{kind: forward.Receive, cmd: cmd, wait: wait, timeout: timeout + n.cfg.Limits.Timeout})
}
