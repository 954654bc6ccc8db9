package environment

import (
	"time"
)

// Clock is a node's source of time. All times in commands and deadlines come from it, so tests and
// fault runs can shift them.
type Clock interface {
	// Wall returns the wall clock time, which may jump.
	Wall() time.Time
	// Monotonic returns the time since a fixed point; it never falls.
	Monotonic() time.Duration
}

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time            { return time.Now().Round(0) }
func (c systemClock) Monotonic() time.Duration { return time.Since(c.start) }

// SinceContact returns the time since the library's last contact with the leader, which it notes on
// the machine's monotonic clock.
func SinceContact(at time.Time) time.Duration { return time.Since(at) }

// PacketTime returns the machine's time, with which memberlist measures round trips.
func PacketTime() time.Time { return time.Now() }

// DeadlineAfter returns a deadline for a connection, on the machine's clock.
func DeadlineAfter(limit time.Duration) time.Time { return time.Now().Add(limit) }
