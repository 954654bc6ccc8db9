package leader

import (
	"context"
	"fmt"
)

// ReadIndex returns, in the outcome's position, a log index that is at or above everything
// acknowledged before the call. A node that has applied the log up to it may read.
func (t *Term) ReadIndex(ctx context.Context) Outcome {
	index, err := t.reads.wait(ctx)
	if err != nil {
		return failedRead(ctx)
	}
	return Outcome{Verdict: Answered, At: Position{Index: index}}
}

// AskReadIndex is ReadIndex without waiting. It calls complete exactly once, possibly before it
// returns; complete must not block. It completes with ErrNotLeader if this node does not lead.
func (t *Term) AskReadIndex(complete func(uint64, error)) { t.reads.ask(complete) }

// confirmIndex answers one batch of reads. It notes the index before it confirms leadership: a
// leader deposed in between could miss newer commits (raft.md A5).
func (t *Term) confirmIndex(ctx context.Context) (uint64, error) {
	t.options.Counters.ReadIndexes.Add(1)
	index := t.options.Group.CommitIndex()
	if err := t.options.Group.ConfirmLeadership(ctx, t.options.Term); err != nil {
		return 0, fmt.Errorf("confirming leadership: %w", err)
	}
	return index, nil
}

// failedRead returns the outcome of a failed read: nothing was written.
func failedRead(ctx context.Context) Outcome {
	if ctx.Err() != nil {
		return Outcome{Verdict: Expired}
	}
	return Outcome{Verdict: NotProposed}
}
