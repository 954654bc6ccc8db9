package consensus

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// contacts records the last answer of each follower, and the end of the log that it is known to
// share with this leader. Safe for concurrent use.
type contacts struct {
	clock environment.Clock

	mu    sync.Mutex
	nodes map[string]contact
}

type contact struct {
	at      time.Duration // monotonic
	term    uint64        // of the leader that matched refers to
	matched uint64        // entry index; 0: none confirmed in that term
}

func newContacts(clock environment.Clock) *contacts {
	return &contacts{clock: clock, nodes: map[string]contact{}}
}

// answered records the answer of a node. The end of its log is ignored: entries there may differ
// from the leader's.
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

// last returns the time since the last answer of a node.
func (c *contacts) last(nodeID string) (age time.Duration, known bool) {
	now := c.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, known := c.nodes[nodeID]
	return now - seen.at, known
}

// matched returns the last entry that a node is known to share with the leader of a term.
func (c *contacts) matched(nodeID string, term uint64) (index uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.nodes[nodeID]
	return seen.matched, seen.term == term && seen.matched > 0
}
