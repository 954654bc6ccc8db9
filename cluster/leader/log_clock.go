package leader

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
)

// logClock stamps log entries. It never falls. It follows the monotonic clock, but runs at half
// speed while it is later than the wall clock and at up to double speed while it is earlier. So a
// wall clock that steps, on this node or the leader before it, neither makes deadlines jump nor
// freezes them (faults.md I16 and 13.5). Safe for concurrent use.
type logClock struct {
	clock environment.Clock

	mu   sync.Mutex
	last time.Duration // log time since 1970 at the last reading
	mono time.Duration // monotonic time at the last reading
}

// takeOver begins a leader term at the later of the replicated time and the wall clock. It returns
// the lead of the replicated time over the wall clock.
func (c *logClock) takeOver(state queue.Timestamp) (lead time.Duration) {
	wall := wallSince1970(c.clock)
	replicated := time.Duration(state) * time.Millisecond
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.mono = max(wall, replicated), c.clock.Monotonic()
	return replicated - wall
}

func (c *logClock) now() queue.Timestamp {
	wall := wallSince1970(c.clock)
	mono := c.clock.Monotonic()
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

func wallSince1970(c environment.Clock) time.Duration { return time.Duration(c.Wall().UnixNano()) }
