package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/queue"
)

// waitingCall is a call whose end is told instead of awaited: it has no goroutine while
// the leader lets it wait. One goroutine at a time goes on with it.
type waitingCall struct {
	node *Node
	request
	routing
	client   context.Context // of whoever called
	ctx      context.Context // ends when the call has to
	cancel   context.CancelFunc
	complete func(Reply, error)

	// Of the attempt under way. Who comes second of the two that count in met, the
	// one who began it and the one who told its outcome, goes on with the call.
	met     atomic.Int32
	stop    func() bool // lets the end of ctx give up on the attempt no more
	outcome leader.Outcome
}

// beginWaiting executes a command that waits at the leader, until its end or until it
// waits. A node that has no leader waits for one as long as timeout, and the time that
// any command has.
func (n *Node) beginWaiting(ctx context.Context, cmd queue.Command, wait, timeout time.Duration, complete func(Reply, error)) {
	if !n.calls.enter() {
		complete(Reply{}, errClosing)
		return
	}
	c := &waitingCall{
		node: n, request: request{kind: forward.Receive, cmd: cmd, wait: wait, timeout: timeout + n.cfg.Limits.Timeout},
		client: ctx, complete: complete,
	}
	c.ctx, c.cancel = context.WithTimeout(ctx, c.timeout)
	if reply, refused, err := n.prepare(c.ctx, &c.request); refused {
		c.end(reply, err)
		return
	}
	c.routing = n.beginRoute(&c.request)
	c.goOn()
}

// goOn makes attempts until the call ends or waits.
func (c *waitingCall) goOn() {
	for {
		c.changed = c.node.leaderMayChange()
		c.attempt()
		if c.met.Add(1) < 2 || c.judge() {
			return
		}
	}
}

// attempt begins an attempt.
func (c *waitingCall) attempt() {
	t, leaderID := c.node.leaderFor(&c.request)
	switch {
	case t != nil:
		call := t.NewReceive(c.ctx, leader.ReceiveRequest{
			Request: c.proposed(), Command: c.cmd, Wait: c.wait, Waited: c.node.cfg.Clock.Monotonic() - c.started,
		}, c.told)
		c.stop = context.AfterFunc(c.ctx, call.HangUp)
		call.Begin()
	case leaderID != "":
		link := c.node.link(leaderID)
		id := link.Begin(c.node.forwarded(&c.request), c.told)
		c.stop = context.AfterFunc(c.ctx, func() { link.Abandon(id) })
	default:
		c.stop = func() bool { return true }
		c.told(leader.Outcome{Verdict: leader.NotProposed})
	}
}

// told takes the outcome of the attempt. It does not block.
func (c *waitingCall) told(o leader.Outcome) {
	c.outcome = o
	if c.met.Add(1) == 2 {
		go func() {
			if !c.judge() {
				c.goOn()
			}
		}()
	}
}

// judge goes by the outcome of the attempt and reports whether the call ends with it.
func (c *waitingCall) judge() (ended bool) {
	c.stop()
	o := c.outcome
	c.outcome, c.stop = leader.Outcome{}, nil
	c.met.Store(0)
	o, ended, err := c.node.judge(c.ctx, &c.request, &c.routing, o)
	if ended {
		c.end(c.node.reply(c.ctx, &c.request, o, err))
	}
	return ended
}

func (c *waitingCall) end(reply Reply, err error) {
	n := c.node
	n.requests.end(c.own)
	n.count(c.client, &c.request, reply, err)
	c.cancel()
	n.calls.leave()
	c.complete(reply, err)
}
