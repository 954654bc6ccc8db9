package route

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// waitSecondsMax bounds the time that a receive waits.
const waitSecondsMax = limits.WaitSecondsMax * time.Second

// Receive executes a receive that waits up to wait for a message: 0 is a short poll, and a negative
// wait means the queue's ReceiveMessageWaitTimeSeconds. It receives nothing if ctx has ended before.
// Errors are those of Submit.
func (rt *Router) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (Reply, error) {
	return awaited(func(complete func(Reply, error)) { rt.BeginReceive(ctx, cmd, wait, complete) })
}

// BeginReceive is Receive without a goroutine while it waits. It calls complete once with the result,
// perhaps before it returns; complete may block.
func (rt *Router) BeginReceive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration, complete func(Reply, error)) {
	wait = min(wait, waitSecondsMax)
	timeout := wait
	if wait < 0 {
		// The leader decides the wait. Without one, the node must not wait longer than the
		// queue allows.
		wait, timeout = -time.Millisecond, leader.WaitOf(rt.node.Replica, cmd.Queue)
	}
	if short := wait == 0; cmd.ShortPoll != short {
		changed := *cmd
		changed.ShortPoll = short
		cmd = &changed
	}
	rt.beginWaiting(ctx, cmd, wait, timeout, complete)
}

// AcceptSession locks a session. If the command names none, it waits up to wait for a free one, and
// returns a zero SessionLocked if there is none by then. Errors are those of Submit.
func (rt *Router) AcceptSession(ctx context.Context, cmd *queue.AcceptSession, wait time.Duration) (Reply, error) {
	if cmd.SessionIDGiven {
		return rt.Submit(ctx, cmd)
	}
	wait = min(max(wait, 0), waitSecondsMax)
	return awaited(func(complete func(Reply, error)) { rt.beginWaiting(ctx, cmd, wait, wait, complete) })
}

// NoteUse notes that a client reads a queue, if the queue or its topic is deleted when it is idle. The log
// of the leader gets few of these notes. Errors are those of Submit.
func (rt *Router) NoteUse(ctx context.Context, name string) (err error) {
	var from queue.Timestamp
	rt.ReadLocal(func(v queue.View) { from = v.UnnotedFrom(name) })
	if from != 0 {
		_, err = awaited(func(complete func(Reply, error)) { rt.beginWaiting(ctx, &queue.NoteUse{Queue: name}, 0, 0, complete) })
	}
	return err
}

// awaited waits for the end of a call.
func awaited(begin func(complete func(Reply, error))) (Reply, error) {
	type end struct {
		reply Reply
		err   error
	}
	ended := make(chan end, 1) // the one end
	begin(func(reply Reply, err error) { ended <- end{reply, err} })
	e := <-ended
	return e.reply, e.err
}

// noteHolder records the client that received messages or a session through this node.
func (rt *Router) noteHolder(ctx context.Context, cmd queue.Command, reply *Reply) {
	switch c := cmd.(type) {
	case *queue.ReceiveMessages:
		received, ok := reply.Result.(queue.MessagesReceived)
		if !ok || len(received.Messages) == 0 || c.Options != nil && c.Options.Delete {
			return // nothing is held
		}
		caller, ok := ctx.Value(holders.CallerKey{}).(holders.Caller)
		switch {
		case !ok:
		case received.Messages[0].Sequence == 0: // of a standard queue
			rt.node.Holders.ReceivedSingle(caller.Caller(), c.Queue, received.Messages, reply.LogTime)
		default:
			rt.node.Holders.Received(caller.Caller(), c.Queue, received.Messages, reply.LogTime, received.Replayed)
		}
	case *queue.AcceptSession:
		locked, ok := reply.Result.(queue.SessionLocked)
		if !ok || locked.SessionID == "" {
			return
		}
		if caller, ok := ctx.Value(holders.CallerKey{}).(holders.Caller); ok {
			rt.node.Holders.Locked(caller.Caller(), c.Queue, locked.SessionID, locked.Token.Seal(), reply.LogTime)
		}
	}
}
