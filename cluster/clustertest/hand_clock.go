package clustertest

import (
	"sync"
	"time"
)

// HandClock is a Clock that tests move.
type HandClock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

// NewHandClock returns a clock that stands at a time in milliseconds.
func NewHandClock(wallMillis int64) *HandClock {
	return &HandClock{wall: time.UnixMilli(wallMillis)}
}

// Wall returns the wall clock time.
func (c *HandClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Monotonic returns the time since the clock was made.
func (c *HandClock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

// Pass advances both clocks.
func (c *HandClock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(d), c.mono+d
}

// Step moves only the wall clock, as an operator or NTP does.
func (c *HandClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}
