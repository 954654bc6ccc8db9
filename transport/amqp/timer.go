package amqp

import (
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
)

// retryAfter is the time after which links without room in the budget try again.
const retryAfter = 100 * time.Millisecond

// timer does the work of a connection that no frame causes.
type timer struct {
	timer       *time.Timer // nil before the first use
	at          time.Time   // when it fires; zero: never
	peerIdle    time.Duration
	verifyUntil time.Time
}

func (t *timer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

func ms(n wire.Optional[uint32]) time.Duration { return time.Duration(n.Value) * time.Millisecond }

// arm makes the timer fire at a time, or before. It needs the mutex.
func (c *Conn) arm(at time.Time) {
	t := &c.timer
	if !t.at.IsZero() && !at.Before(t.at) {
		return
	}
	t.at = at
	after := max(0, at.Sub(c.server.Now()))
	if t.timer == nil {
		t.timer = time.AfterFunc(after, c.tick)
		return
	}
	t.timer.Reset(after)
}

// tick does what is due.
func (c *Conn) tick() {
	defer c.recoverPanic()
	c.calls.Lock()
	defer c.calls.Unlock()
	if c.due() {
		c.dispatch()
	}
}

// due does what is due, and arms the timer for the rest. It reports false on an ended connection.
func (c *Conn) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage == ended {
		return false
	}
	c.timer.at = time.Time{}
	now := c.server.Now()
	c.heartbeat(now)
	if until := c.timer.verifyUntil; !c.memory.verified && c.stage == opened {
		if now.Before(until) {
			c.arm(until)
		} else {
			c.server.refused(limits.RefusedSilent, c.net, errUnverified)
			c.close(errUnverified)
		}
	}
	for v := range c.partial {
		if until := v.message.until; now.Before(until) {
			c.arm(until)
		} else {
			c.server.refused(limits.RefusedSlow, c.net, errSlowMessage)
			v.fail(errSlowMessage)
		}
	}
	if c.starved.len() > 0 {
		c.queueRoom()
		c.arm(now.Add(retryAfter))
	}
	c.wake()
	return true
}

var (
	errUnverified  = failure(UnauthorizedAccess, "No valid token came in time.")
	errSlowMessage = failure(DetachForced, "The rest of a message did not come in time.")
)

// heartbeat sends an empty frame if nothing else was written for half of the client's idle time-out.
func (c *Conn) heartbeat(now time.Time) {
	every := c.timer.peerIdle / 2
	if every == 0 || c.stage >= closing {
		return
	}
	next := c.output.wrote.Add(every)
	if !now.Before(next) {
		if len(c.output.queued.content()) == 0 && !c.output.writing {
			c.beginFrame(wire.FrameAMQP, 0)
			c.output.queued.bytes = wire.EndFrame(c.output.queued.bytes, 0)
		}
		next = now.Add(every)
	}
	c.arm(next)
}
