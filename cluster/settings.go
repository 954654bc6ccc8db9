package cluster

import "time"

// ClusterSettings are what all nodes must agree on. The leader writes its own
// into the log when they differ from those of the replicated state.
type ClusterSettings struct {
	// MinimumWindowSeconds is the lower bound of DeduplicationWindowSeconds
	// and ReceiveAttemptWindowSeconds, 1..20; 0 means 20.
	MinimumWindowSeconds int
	// AWSCooldowns turns on the 60 seconds after DeleteQueue and between two
	// PurgeQueue calls.
	AWSCooldowns bool
}

// RequestLimits bound what clients can make a node hold. The zero value of a
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
}

// room is what may wait to be proposed, in bytes and commands. What is not a send
// has a quarter more, so that a flood of sends cannot keep it out.
func (l RequestLimits) room(essential bool) (bytes, commands int) {
	if !essential {
		return l.QueueBytes, l.QueueCommands
	}
	return l.QueueBytes + l.QueueBytes/4, l.QueueCommands + l.QueueCommands/4
}

const (
	requestTimeoutDefault   = 10 * time.Second
	queueBytesDefault       = 64 << 20
	queueCommandsDefault    = 1 << 16
	waitingReceivesDefault  = 1 << 16
	minimumWindowSecondsMax = 20
)

func (l RequestLimits) withDefaults() RequestLimits {
	if l.Timeout <= 0 {
		l.Timeout = requestTimeoutDefault
	}
	if l.QueueBytes <= 0 {
		l.QueueBytes = queueBytesDefault
	}
	if l.QueueCommands <= 0 {
		l.QueueCommands = queueCommandsDefault
	}
	if l.WaitingReceives <= 0 {
		l.WaitingReceives = waitingReceivesDefault
	}
	l.Pressure = l.Pressure.withDefaults()
	return l
}

func (s ClusterSettings) withDefaults() ClusterSettings {
	if s.MinimumWindowSeconds <= 0 || s.MinimumWindowSeconds > minimumWindowSecondsMax {
		s.MinimumWindowSeconds = minimumWindowSecondsMax
	}
	return s
}

// MembershipPolicy says what changes of the members happen without an operator.
// None of them removes a node: silence may be a partition.
type MembershipPolicy struct {
	// ManualJoin: an empty node does not ask to join, and a leader does not
	// let nodes join that ask; an operator adds them.
	ManualJoin bool
	// Voters is up to how many voters the leader promotes learners; 0 means
	// as many as founded the cluster.
	Voters int
	// PromoteAfter is how long a learner must have kept up before; default 10s.
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
