package consensus

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// contacts remembers when each follower last answered, and up to which entry its log is
// known to be this leader's. Safe for concurrent use.
type contacts struct {
	clock environment.Clock

	mu    sync.Mutex
	nodes map[string]contact
}

type contact struct {
	at      time.Duration // monotonic
	term    uint64        // of the leader that matched is about
	matched uint64        // the entry; 0: the follower has confirmed none in that term
}

// newContacts returns empty contacts, timed by a clock.
func newContacts(clock environment.Clock) *contacts {
	return &contacts{clock: clock, nodes: map[string]contact{}}
}

// answered notes what a node answered to a message. Where its log ends says nothing:
// entries there may be others than the leader's.
func (c *contacts) answered(nodeID string, message *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) {
	at := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.nodes[nodeID]
	seen.at = at
	if message.Term > seen.term {
		seen.term, seen.matched = message.Term, 0
	}
	if answer.Success && message.Term == seen.term {
		seen.matched = max(seen.matched, message.PrevLogEntry)
		if n := len(message.Entries); n > 0 {
			seen.matched = max(seen.matched, message.Entries[n-1].Index)
		}
	}
	c.nodes[nodeID] = seen
}

// last returns the time since a node answered.
func (c *contacts) last(nodeID string) (age time.Duration, known bool) {
	now := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, known := c.nodes[nodeID]
	return now - seen.at, known
}

// matched is the entry up to which the log of a node is that of the leader of a term.
func (c *contacts) matched(nodeID string, term uint64) (index uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.nodes[nodeID]
	return seen.matched, seen.term == term && seen.matched > 0
}
