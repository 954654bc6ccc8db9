package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
)

// Propose adds one encoded entry to the log of the leader.
func (g *Group) Propose(entry []byte) (wait func() (fsm.EntryResult, error), err error) {
	if g.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: the group is closed", fault.ErrNotLeader)
	}
	if g.raft.State() != raft.Leader {
		return nil, fault.ErrNotLeader
	}
	future := g.raft.Apply(entry, g.options.Timing.Enqueue)
	return func() (fsm.EntryResult, error) { return g.awaitResult(future) }, nil
}

// Writing reports whether this node is writing entries to its log, so that another one has to wait.
// If so, ended is called when the write completes.
func (g *Group) Writing(ended func()) bool { return g.writing.now(ended) }

// awaitResult waits until a proposed entry is applied here or its outcome is unknown.
func (g *Group) awaitResult(future raft.ApplyFuture) (fsm.EntryResult, error) {
	if err := g.awaitEntry(g.ctx, future); err != nil {
		if g.ctx.Err() != nil {
			err = fmt.Errorf("%w: the group is closed", fault.ErrOutcomeUnknown)
		}
		return fsm.EntryResult{}, err
	}
	result, ok := future.Response().(fsm.EntryResult)
	if !ok {
		return result, fmt.Errorf("%w: the state machine answered with %T", fault.ErrOutcomeUnknown, future.Response())
	}
	return result, nil
}

// translate classifies the library's errors. Only those before the entry is written mean that it
// was not proposed. After any other error, even of the local log, the next leader may commit it
// (raft.md A1, faults.md 0.1).
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w (%w)", fault.ErrNotLeader, err)
	default:
		return fmt.Errorf("%w (%w)", fault.ErrOutcomeUnknown, err)
	}
}
