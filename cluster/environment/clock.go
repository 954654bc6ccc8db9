package environment

import (
	"crypto/rand"
	"io"
	"time"
)

// Clock is where a node reads time. Everything that reaches a command or a
// deadline comes through it, so that tests and fault runs can shift it.
type Clock interface {
	// Wall is the present time as the machine believes it; it may jump.
	Wall() time.Time
	// Monotonic is the time since some fixed point; it only moves forward.
	Monotonic() time.Duration
}

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time            { return time.Now().Round(0) }
func (c systemClock) Monotonic() time.Duration { return time.Since(c.start) }

// SinceContact is how long ago the library heard of the leader, which it notes by
// the machine's monotonic clock.
func SinceContact(at time.Time) time.Duration { return time.Since(at) }

// PacketTime is when a packet of gossip came or went, by the machine's clock: the
// library measures round trips with it.
func PacketTime() time.Time { return time.Now() }

// DeadlineAfter is the end of a time limit for what is done on a connection, whose
// limits are by the machine's clock.
func DeadlineAfter(limit time.Duration) time.Time { return time.Now().Add(limit) }

// systemEntropy is where ids and keys are drawn from: the operating system.
func systemEntropy() io.Reader { return rand.Reader }
