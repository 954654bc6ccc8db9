package cluster

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/fsm/plant"
	"github.com/seriatimq/seriatim/queue"
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

// sinceContact is how long ago the library heard of the leader, which it notes by
// the machine's monotonic clock.
func sinceContact(at time.Time) time.Duration { return time.Since(at) }

// packetTime is when a packet of gossip came or went, by the machine's clock: the
// library measures round trips with it.
func packetTime() time.Time { return time.Now() }

// systemEntropy is where ids and keys are drawn from: the operating system.
func systemEntropy() io.Reader { return rand.Reader }

// logClock gives the leader's stamps for log entries. It never falls. Its pace
// is that of the monotonic clock, except that it runs at half speed while it
// is ahead of the wall clock and at most at double speed while it is behind:
// a wall clock that steps, on this node or on the leader before it, cannot make
// deadlines jump, and a clock that once ran ahead cannot freeze them
// (faults.md I16 and 13.5).
//
// Safe for concurrent use.
type logClock struct {
	clock Clock

	mu   sync.Mutex
	last time.Duration // log time since 1970 at the last reading
	mono time.Duration // monotonic time at the last reading
}

// takeOver starts a tenure: the later of the replicated time and the wall
// clock. It returns by how much the replicated time was ahead of the wall.
func (c *logClock) takeOver(state queue.Timestamp) (ahead time.Duration) {
	wall := wallSince1970(c.clock)
	replicated := time.Duration(state) * time.Millisecond
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.mono = max(wall, replicated), c.clock.Monotonic()
	return replicated - wall
}

// now is the present log time.
func (c *logClock) now() queue.Timestamp {
	wall := wallSince1970(c.clock)
	mono := c.clock.Monotonic()
	if plant.Is(18) {
		return queue.Timestamp(wall / time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if elapsed := mono - c.mono; elapsed > 0 {
		c.last, c.mono = slew(c.last, elapsed, wall), mono
	}
	return queue.Timestamp(c.last / time.Millisecond)
}

// slew advances last by elapsed, pulled towards wall.
func slew(last, elapsed, wall time.Duration) time.Duration {
	even := last + elapsed
	if even <= wall {
		return min(wall, even+elapsed)
	}
	return max(wall, last+elapsed/2)
}

func wallSince1970(c Clock) time.Duration { return time.Duration(c.Wall().UnixNano()) }
