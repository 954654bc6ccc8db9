//go:build faults

package server

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// shiftedClock is a clock that is wrong on demand. Monotonic may run fast or slow, but never
// back. Safe for concurrent use.
type shiftedClock struct {
	true cluster.Clock

	mu     sync.Mutex
	since  time.Duration // the true monotonic time of the last shift
	start  time.Duration // the value of Monotonic at the last shift
	offset time.Duration // of the wall clock, at the last shift
	rate   float64
}

func newShiftedClock(right cluster.Clock) *shiftedClock {
	now := right.Monotonic()
	return &shiftedClock{true: right, since: now, start: now, rate: 1}
}

// shift adds an offset in milliseconds to the wall clock, and runs both clocks at a rate from now
// on. An offset of 0 and a rate of 1 make the wall clock right again.
func (c *shiftedClock) shift(offsetMs int64, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.true.Monotonic()
	c.start += c.run(now)
	c.since, c.offset, c.rate = now, time.Duration(offsetMs)*time.Millisecond, rate
}

// run returns the time on this clock since the last shift. The caller holds mu.
func (c *shiftedClock) run(now time.Duration) time.Duration {
	return time.Duration(float64(now-c.since) * c.rate)
}

// Wall returns the shifted wall time.
func (c *shiftedClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.true.Monotonic()
	drift := c.run(now) - (now - c.since)
	return c.true.Wall().Add(c.offset + drift)
}

// Monotonic returns the monotonic time at the rate of the last shift.
func (c *shiftedClock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start + c.run(c.true.Monotonic())
}
