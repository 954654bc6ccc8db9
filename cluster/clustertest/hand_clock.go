package clustertest

import (
	"sync"
	"time"
)

// HandClock is a Clock moved by hand.
type HandClock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

// NewHandClock returns a clock that stands still at a time in milliseconds.
func NewHandClock(wallMillis int64) *HandClock {
	return &HandClock{wall: time.UnixMilli(wallMillis)}
}

// Wall is the time of the wall clock.
func (c *HandClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Monotonic is the time since the clock was made.
func (c *HandClock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

// Pass lets both clocks advance.
func (c *HandClock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(d), c.mono+d
}

// Step moves the wall clock only, as an operator or NTP does.
func (c *HandClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}
