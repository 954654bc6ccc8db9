package cluster

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
)

// ClusterSettings are what all nodes must agree on.
type ClusterSettings = leader.Settings

// RequestLimits bound what clients can make a node keep in memory. The zero value of a
// field means its default.
type RequestLimits struct {
	// Timeout is how long a call may try before it ends with ErrUnavailable
	// or ErrOutcomeUnknown; a receive may wait for messages beside it.
	Timeout time.Duration
	// QueueBytes and QueueCommands bound the commands waiting to be
	// proposed, on the leader and towards the leader; above it callers get
	// ErrOverloaded.
	QueueBytes    int
	QueueCommands int
	// WaitingReceives bounds the long polls held by the leader.
	WaitingReceives int
	Pressure        PressureLimits
	// QueueTotals is how many queues have counts of their own, see Node.QueueTotals.
	QueueTotals int
}

const requestTimeoutDefault = 10 * time.Second

// leader are the limits of what waits at the leader and on the way to it.
func (l RequestLimits) leader() leader.Limits {
	return leader.Limits{QueueBytes: l.QueueBytes, QueueCommands: l.QueueCommands, WaitingReceives: l.WaitingReceives}
}

func (l RequestLimits) withDefaults() RequestLimits {
	if l.Timeout <= 0 {
		l.Timeout = requestTimeoutDefault
	}
	limits := l.leader().WithDefaults()
	l.QueueBytes, l.QueueCommands, l.WaitingReceives = limits.QueueBytes, limits.QueueCommands, limits.WaitingReceives
	l.Pressure = l.Pressure.withDefaults()
	return l
}

// MembershipPolicy says which changes of the members happen without an operator. No node
// is ever removed automatically: one that does not answer may be partitioned.
type MembershipPolicy struct {
	// ManualJoin: an empty node does not ask to join, and a leader does not
	// let nodes join that ask; an operator adds them.
	ManualJoin bool
	// Voters is the number of voters up to which the leader promotes learners; 0
	// means as many as the initial members.
	Voters int
	// PromoteAfter is how long a learner must have kept up before it is promoted;
	// default 10s.
	PromoteAfter time.Duration
}

// promoteAfterDefault is long enough to see that a learner keeps up with the
// load, not only that it once reached the end of the log (raft.md A7).
const promoteAfterDefault = 10 * time.Second

func (p MembershipPolicy) withDefaults() MembershipPolicy {
	if p.PromoteAfter <= 0 {
		p.PromoteAfter = promoteAfterDefault
	}
	return p
}
