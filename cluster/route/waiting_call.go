package route

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/rendezvous"
	"github.com/seriatimq/seriatim/queue"
)

// waitingCall is a call that has no goroutine while it waits at the leader. One goroutine at a time
// works on it.
type waitingCall struct {
	router   *Router
	request  request
	routing  routing
	client   context.Context // of the caller
	ctx      context.Context // ends with the time of the call
	cancel   context.CancelFunc
	complete func(Reply, error)

	// The current attempt. Its parties are the goroutine that started it and its completion.
	rendezvous rendezvous.Rendezvous
	stop       func() bool // detaches the attempt from the end of ctx
	outcome    leader.Outcome
}

// beginWaiting executes a command that may wait at the leader. It returns when the command has ended
// or waits. Without a leader, the node waits for one for timeout plus the time of any command.
func (rt *Router) beginWaiting(ctx context.Context, cmd queue.Command, wait, timeout time.Duration, complete func(Reply, error)) {
	if !rt.Calls.Enter() {
		complete(Reply{}, ErrClosing)
		return
	}
	c := &waitingCall{
		router: rt, request: request{kind: forward.Receive, cmd: cmd, wait: wait, timeout: timeout + rt.node.Timeout},
		client: ctx, complete: complete,
	}
	c.ctx, c.cancel = context.WithTimeout(ctx, c.request.timeout)
	if reply, refused, err := rt.prepare(c.ctx, &c.request); refused {
		c.end(reply, err)
		return
	}
	c.routing = rt.beginRoute(&c.request)
	c.resume()
}

// resume makes attempts until the call ends or is suspended.
func (c *waitingCall) resume() {
	for {
		c.routing.changed = c.router.leaderMayChange()
		c.attempt()
		if c.rendezvous.Suspend() || c.decide() {
			return
		}
	}
}

// attempt starts an attempt.
func (c *waitingCall) attempt() {
	t, leaderID := c.router.leaderFor(&c.request)
	switch {
	case t != nil:
		call := t.NewReceive(c.ctx, leader.ReceiveRequest{
			Request: c.request.proposed(), Command: c.request.cmd, Wait: c.request.wait,
			Waited: c.router.node.Monotonic() - c.request.started,
		}, c.completed)
		c.stop = context.AfterFunc(c.ctx, call.HangUp)
		call.Begin()
	case leaderID != "":
		link := c.router.node.Link(leaderID)
		id := link.Begin(c.router.forwarded(&c.request), c.completed)
		c.stop = context.AfterFunc(c.ctx, func() { link.Abandon(id) })
	default:
		c.stop = func() bool { return true }
		c.completed(leader.Outcome{Verdict: leader.NotProposed})
	}
}

// completed takes the outcome of the attempt. It does not block.
func (c *waitingCall) completed(o leader.Outcome) {
	c.outcome = o
	if c.rendezvous.Resume() {
		go func() {
			if !c.decide() {
				c.resume()
			}
		}()
	}
}

// decide handles the outcome of the attempt and reports whether it ends the call.
func (c *waitingCall) decide() (ended bool) {
	c.stop()
	o := c.outcome
	c.outcome, c.stop = leader.Outcome{}, nil
	o, ended, err := c.router.decide(c.ctx, &c.request, &c.routing, o)
	if ended {
		c.end(c.router.reply(c.ctx, &c.request, o, err))
	}
	return ended
}

func (c *waitingCall) end(reply Reply, err error) {
	rt := c.router
	rt.node.Requests.end(c.request.own)
	rt.count(c.client, &c.request, reply, err)
	c.cancel()
	rt.Calls.Leave()
	c.complete(reply, err)
}
