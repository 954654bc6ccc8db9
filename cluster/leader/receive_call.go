package leader

import (
	"context"
	"sync/atomic"
	"time"
)

// ReceiveCall is a receive while the leader works on it, whose outcome is told instead of
// awaited. While it waits for messages it is parked and has no goroutine, whose stack would
// be most of what it costs: the leader has those of all nodes. Made by NewReceive; used by
// one goroutine at a time.
type ReceiveCall struct {
	*Term
	ReceiveRequest
	final bool // the next empty answer is the answer
	wakes int  // times it was woken in vain

	ctx      context.Context
	cancel   context.CancelFunc
	complete func(Outcome)
	timer    *time.Timer // nil: it does not wait
	timedOut atomic.Bool

	// parked says that the call waits. Who sets it back goes on with the call; what is
	// not atomic belongs to that goroutine.
	parked atomic.Bool
	waits  *waitingReceive // while parked
}

// NewReceive is a receive that Begin begins (sqs.md 5). What finds a message is a command
// in the log. What finds none writes nothing: a short poll is answered after a read
// barrier, a long poll waits for an event first. complete takes the outcome, once, on a
// goroutine of the call, and may block. A receive that was not proposed before ctx ended
// never is.
func (t *Term) NewReceive(ctx context.Context, request ReceiveRequest, complete func(Outcome)) *ReceiveCall {
	c := &ReceiveCall{Term: t, ReceiveRequest: request, complete: complete}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Begin executes the receive until it is answered or parked. Whoever made the call must
// see to it that HangUp is called when the context of the call ends.
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
	c.goOn()
}

// HangUp gives up on the receive. If it was not proposed by now, it never is. More than
// once is allowed, and at any time.
func (c *ReceiveCall) HangUp() {
	c.cancel()
	c.resume()
}

// goOn executes the receive until it is answered or parked.
func (c *ReceiveCall) goOn() {
	if o, parked := c.run(); !parked {
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

// park leaves the call to whoever resumes it. It reports false if that has happened
// already.
func (c *ReceiveCall) park(w *waitingReceive) bool {
	c.waits = w
	c.parked.Store(true)
	// What happened before found nobody to wake.
	return !c.due(w) || !c.parked.CompareAndSwap(true, false)
}

// due reports whether there is a reason to go on.
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

// resume goes on with a parked call. It never blocks.
func (c *ReceiveCall) resume() {
	if c.parked.CompareAndSwap(true, false) {
		go c.unpark()
	}
}

// unpark does what the goroutine of a receive does that has waited.
func (c *ReceiveCall) unpark() {
	w := c.waits
	c.waits = nil
	if !c.due(w) && c.park(w) {
		return // it was resumed for a wait that is over
	}
	o, ended := c.whyResumed(w)
	if o, ended = c.stopWaiting(w, o, ended); ended {
		c.end(o)
		return
	}
	c.goOn()
}
