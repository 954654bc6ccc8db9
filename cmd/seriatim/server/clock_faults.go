//go:build faults

package server

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// shiftedClock is a clock that is wrong on demand. Its monotonic side may run
// fast or slow, but never back. Safe for concurrent use.
type shiftedClock struct {
	true cluster.Clock

	mu     sync.Mutex
	since  time.Duration // on the true monotonic clock: when it was shifted last
	start  time.Duration // what Monotonic said then
	offset time.Duration // of the wall clock, then
	rate   float64
}

func newShiftedClock(right cluster.Clock) *shiftedClock {
	now := right.Monotonic()
	return &shiftedClock{true: right, since: now, start: now, rate: 1}
}

// shift makes the wall clock wrong by an offset, in milliseconds, and lets both
// clocks run at a rate from now on. 0 and 1 make the wall clock right again.
func (c *shiftedClock) shift(offsetMs int64, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.true.Monotonic()
	c.start += c.run(now)
	c.since, c.offset, c.rate = now, time.Duration(offsetMs)*time.Millisecond, rate
}

// run is how long this clock has run since the last shift. The caller holds mu.
func (c *shiftedClock) run(now time.Duration) time.Duration {
	return time.Duration(float64(now-c.since) * c.rate)
}

// Wall is the shifted wall clock.
func (c *shiftedClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.true.Monotonic()
	drift := c.run(now) - (now - c.since)
	return c.true.Wall().Add(c.offset + drift)
}

// Monotonic is the monotonic clock at its rate.
func (c *shiftedClock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start + c.run(c.true.Monotonic())
}
