package route

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Node is the node whose clients a Router serves. All fields are required.
type Node struct {
	NodeID      string
	Timeout     time.Duration        // of a call, without the time that a receive waits for messages
	Monotonic   func() time.Duration // clock
	Group       *consensus.Group
	Replica     *fsm.FSM
	Term        func() *leader.Term // nil unless this node leads
	TermChanged func() <-chan struct{}
	Link        func(nodeID string) *forward.Link
	Closing     context.Context // ends when the node accepts nothing new
	Requests    *Requests

	// Check refuses a command by rules that need no state; nil: it is not refused.
	Check func(queue.Command) *queue.Error
	// Seal returns a command without a secret in clear.
	Seal func(ctx context.Context, cmd queue.Command, timeout time.Duration) (queue.Command, error)
	// ReadBodies returns an answer with the bodies that it refers to.
	ReadBodies func(codec.Response) (codec.Response, error)
	Holders    *holders.Table
	Queues     *leader.QueueCounters
}

// Router executes the commands and reads of clients at the leader. Safe for concurrent use.
type Router struct {
	node   Node
	limit  timeLimit // of each call
	Calls  Gate      // counts the calls in progress
	Counts Counters
}

// New returns a Router.
func New(n Node) *Router {
	return &Router{node: n, limit: timeLimit{timeout: n.Timeout}, Counts: Counters{queues: n.Queues}}
}

// Reply is the answer to a command. For a refused command only Position is set, and only if the
// refusal passed the log.
type Reply struct {
	Result queue.Result
	leader.Position
	// Repeated is true for a send that was repeated because the outcome of the first attempt
	// was unknown: a duplicate may be the message of that attempt.
	Repeated bool
}

// One of the channels of a leaderChange is closed when the leader may have changed.
type leaderChange struct{ leadership, term <-chan struct{} }

// leaderMayChange returns the channels of the next change. Call it before an attempt, so that
// you miss no change.
func (rt *Router) leaderMayChange() leaderChange {
	return leaderChange{rt.node.Group.LeadershipChanged(), rt.node.TermChanged()}
}
