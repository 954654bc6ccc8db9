package membership

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/sealing"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// Policy says which changes of the members happen without an operator. No node is ever
// removed automatically: one that does not answer may be partitioned.
type Policy struct {
	// ManualJoin turns joining off: an empty node does not ask to join, and a leader adds
	// only nodes that an operator names.
	ManualJoin bool
	// Voters is the number of voters up to which the leader promotes learners; 0 means as
	// many as the initial members.
	Voters int
	// PromoteAfter is the time that a learner must keep up before it is promoted; default
	// 10s.
	PromoteAfter time.Duration
}

// promoteAfterDefault is long enough to show that a learner keeps up with the load, not only
// that it once reached the end of the log (raft.md A7).
const promoteAfterDefault = 10 * time.Second

// WithDefaults returns the policy with every unset field filled in.
func (p Policy) WithDefaults() Policy {
	if p.PromoteAfter <= 0 {
		p.PromoteAfter = promoteAfterDefault
	}
	return p
}

// Settings are those of the node that concern its membership.
type Settings struct {
	NodeID, NodeName string
	Version          string // of the program
	AdminURL         string // of the admin port; if it has no host, other nodes use that of the peer port
	GossipKey        []byte // may be empty
	BootstrapExpect  int    // number of initial members; 0: this node bootstraps no cluster
	FormatMax        uint32 // highest format version that this node reads
	Policy           Policy
	Heartbeat        time.Duration // timeout
	Arrival          time.Duration // for a request of another node to arrive
	Clock            environment.Clock
	Log              *slog.Logger
	Fatal            func(fault.ExitCode, error) // ends the process
	OnDrain          func(drained bool)          // may be nil
}

// Node is the node of a Coordinator: its settings, and the parts and functions that the
// Coordinator uses.
type Node struct {
	Settings
	Bootstrap *Bootstrap
	Group     *consensus.Group
	Replica   *fsm.FSM
	Network   *peernet.Network
	Gossip    *discovery.Gossip
	Clocks    *discovery.Clocks
	Sealing   *sealing.Keeper
	Holders   *holders.Table
	Closing   context.Context // ends when the node accepts nothing new

	Leads       func() bool            // the node serves clients as the leader
	TermChanged func() <-chan struct{} // closed when the node begins or ends a leader term
	// Hold waits until no entry of this leader is in flight, and lets none start until release.
	Hold           func(context.Context) (release func(), err error)
	Execute        func(context.Context, queue.Command) error // at the leader
	Findings       func() []health.Finding                    // of the checks that this node measures
	Encryption     func() *EncryptionStatus
	ReasonToResign func() string // empty if this node may lead
}

// Operations are the methods of a Coordinator that cluster.Node offers to its callers.
type Operations interface {
	Members(ctx context.Context) (MemberList, error)
	LocalMembers(ctx context.Context) MemberList
	AddMember(ctx context.Context, change Change) error
	RemoveMember(ctx context.Context, change Change) error
	PromoteMember(ctx context.Context, change Change) error
	ReplaceMember(ctx context.Context, change Change) error
	HolderOf(ctx context.Context, name string, g *queue.GroupInfo) (h Holder, missing []string)
	HoldersOf(ctx context.Context, holds []holders.Hold) (list []Holder, missing []string)
	Provide(subject string, answer Provider)
	AskAll(ctx context.Context, subject string, query any) (answers []NodeAnswer, missing []string, err error)
	AskOne(ctx context.Context, node, subject string, query any) (NodeAnswer, error)

	MoveLeadership(ctx context.Context, change Change) error
	TransferLeadership(ctx context.Context) error
	Drain(ctx context.Context) error
	Uncordon()
	Drained() bool
	DrainMember(ctx context.Context, node string, drained bool) (nodeID string, err error)

	Upgrade() Upgrade
	FinalizeUpgrade(ctx context.Context) (Upgrade, error)
}

var _ Operations = (*Coordinator)(nil)

// Coordinator keeps the membership of one node and executes changes. Safe for concurrent use.
type Coordinator struct {
	node Node
	// changing is held while the members are changed, one change at a time. A channel of
	// capacity one, because a caller may stop waiting.
	changing      chan struct{}
	joinWaits     atomic.Pointer[string] // why this node has not joined yet
	leadsSince    atomic.Int64           // when this node last began to lead, monotonic
	drained       atomic.Bool
	drainResigned atomic.Int64  // when this node, drained, last transferred leadership, monotonic
	fitness       wakeup.Signal // ReasonToResign may have changed
	asks          chan struct{} // a semaphore of questions to all members
	providers     sync.Map      // Provider by subject
}

// New returns the Coordinator of a node.
func New(n Node) *Coordinator {
	c := &Coordinator{
		node: n, changing: make(chan struct{}, 1), fitness: wakeup.NewSignal(), asks: make(chan struct{}, asksMax),
	}
	c.Provide(subjectHolders, c.findHolders)
	return c
}

// Run does everything that needs no request, until the node closes. It calls start for each
// of its goroutines.
func (c *Coordinator) Run(start func(func())) {
	start(func() { c.joinCluster(c.node.Closing) })
	start(func() { c.watchRemoval(c.node.Closing) })
	start(c.resignWhenUnfit)
}

// Lead maintains the members as the leader, until the term ends with ctx.
func (c *Coordinator) Lead(ctx context.Context, _ *leader.Term) {
	c.leadsSince.Store(int64(c.node.Clock.Monotonic()))
	c.resignIfDrained(ctx)
	c.fitness.Notify() // the node leads only now: when the term began it was taking over
	c.promoteLearners(ctx)
}

// FitnessChanged makes the node check again whether it should lead.
func (c *Coordinator) FitnessChanged() { c.fitness.Notify() }

// Lock keeps the members as they are until unlock. The error is that of ctx.
func (c *Coordinator) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case c.changing <- struct{}{}:
		return c.unlock, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryLock is Lock for a caller that does not wait.
func (c *Coordinator) tryLock() bool {
	select {
	case c.changing <- struct{}{}:
		return true
	default:
		return false
	}
}

func (c *Coordinator) unlock() { <-c.changing }

// clusterID is empty until the node belongs to a cluster.
func (c *Coordinator) clusterID() string { return c.node.Bootstrap.Record().ClusterID }

// OtherMembers returns the ids of the members except this node.
func (c *Coordinator) OtherMembers() (ids []string) {
	members := c.node.Group.Members()
	for _, list := range [][]string{members.Voters, members.Learners} {
		for _, id := range list {
			if id != c.node.NodeID {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
