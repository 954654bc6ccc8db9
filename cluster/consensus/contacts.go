package consensus

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// contacts remembers when each follower last answered and where its log ended.
// Safe for concurrent use.
type contacts struct {
	clock environment.Clock

	mu    sync.Mutex
	nodes map[string]contact
}

type contact struct {
	at      time.Duration // monotonic
	lastLog uint64
}

// newContacts returns contacts with nobody, timed by a clock.
func newContacts(clock environment.Clock) *contacts {
	return &contacts{clock: clock, nodes: map[string]contact{}}
}

func (c *contacts) note(nodeID string, lastLog uint64) {
	at := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[nodeID] = contact{at: at, lastLog: lastLog}
}

// last is how long ago a node answered and where its log ended then.
func (c *contacts) last(nodeID string) (age time.Duration, lastLog uint64, known bool) {
	now := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, known := c.nodes[nodeID]
	return now - seen.at, seen.lastLog, known
}
