package leader

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/rendezvous"
)

// ReceiveCall is a receive at the leader that completes through a callback. While it waits for
// messages, it is suspended and has no goroutine, whose stack would be most of its memory: the
// leader holds the waiting receives of all nodes. Made by NewReceive; used by one goroutine at a
// time.
type ReceiveCall struct {
	*Term
	ReceiveRequest
	final bool // the wait is over: an empty answer ends the call
	wakes int  // wake-ups without a message

	ctx      context.Context
	cancel   context.CancelFunc
	complete func(Outcome)
	timer    *time.Timer // nil: it does not wait
	timedOut atomic.Bool

	// The parties are the goroutine of the call and the first event that wakes it: a message, the
	// timer, the end of ctx or of the leadership.
	rendezvous rendezvous.Rendezvous
	waits      *waitingReceive // while suspended
}

// NewReceive makes a receive for Begin to start (sqs.md 5). A receive that finds a message is a
// command in the log. One that finds none writes nothing: a short poll is answered after a read
// barrier, a long poll waits for an event first. complete takes the outcome, once, on a goroutine of
// the call, and may block. A receive that was not proposed before ctx ended never is.
func (t *Term) NewReceive(ctx context.Context, request ReceiveRequest, complete func(Outcome)) *ReceiveCall {
	c := &ReceiveCall{Term: t, ReceiveRequest: request, complete: complete}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Begin executes the receive until it is answered or suspended. The caller must call HangUp when the
// context of the call ends.
func (c *ReceiveCall) Begin() {
	left, o := c.begin()
	if o.Verdict != 0 {
		c.end(o)
		return
	}
	if left > 0 {
		c.timer = time.AfterFunc(left, func() {
			c.timedOut.Store(true)
			c.resume()
		})
	}
	c.proceed()
}

// HangUp gives up on the receive. If it was not proposed by now, it never is. More than
// once is allowed, and at any time.
func (c *ReceiveCall) HangUp() {
	c.cancel()
	c.resume()
}

// proceed executes the receive until it is answered or suspended.
func (c *ReceiveCall) proceed() {
	if o, suspended := c.run(); !suspended {
		c.end(o)
	}
}

func (c *ReceiveCall) end(o Outcome) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel()
	c.complete(o)
}

// suspend suspends the call. It reports false if there is a reason to resume it at once.
func (c *ReceiveCall) suspend(w *waitingReceive) bool {
	c.waits = w
	for !c.due(w) {
		if c.rendezvous.Suspend() {
			return true
		}
		// An event called resume before: look at its reason. It may belong to an earlier wait.
	}
	c.waits = nil
	return false
}

// due reports whether there is a reason to resume the call.
func (c *ReceiveCall) due(w *waitingReceive) bool {
	select {
	case <-w.woken:
		return true
	case <-c.lost:
		return true
	default:
		return c.timedOut.Load() || c.ctx.Err() != nil
	}
}

// resume continues a suspended call in a new goroutine. Every event calls it after it has set the
// reason that due finds. It never blocks.
func (c *ReceiveCall) resume() {
	if c.rendezvous.Resume() {
		go c.resumed()
	}
}

// resumed continues the call after its wait.
func (c *ReceiveCall) resumed() {
	w := c.waits
	if c.suspend(w) {
		return // the event belongs to an earlier wait
	}
	o, ended := c.resumeReason(w)
	if o, ended = c.stopWaiting(w, o, ended); ended {
		c.end(o)
		return
	}
	c.proceed()
}
