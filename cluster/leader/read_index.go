package leader

import (
	"context"
	"fmt"
)

// ReadIndex answers with an index of the log, in the outcome's position, that is not
// below anything acknowledged before the call. A node that has applied the log up to
// it may read.
func (t *Term) ReadIndex(ctx context.Context) Outcome {
	index, err := t.reads.wait(ctx)
	if err != nil {
		return failedRead(ctx)
	}
	return Outcome{Verdict: Answered, At: Position{Index: index}}
}

// AskReadIndex is ReadIndex without waiting: complete is called exactly once, maybe
// before AskReadIndex returns, and must not block. The error says that this node
// does not lead.
func (t *Term) AskReadIndex(complete func(uint64, error)) { t.reads.ask(complete) }

// confirmIndex answers one batch of reads. The order matters: the index is noted
// before leadership is confirmed, else a leader deposed in between could have
// missed newer commits (raft.md A5).
func (t *Term) confirmIndex(ctx context.Context) (uint64, error) {
	t.options.Counters.ReadIndexes.Add(1)
	index := t.options.Group.CommitIndex()
	if err := t.options.Group.ConfirmLeadership(ctx, t.options.Term); err != nil {
		return 0, fmt.Errorf("confirming leadership: %w", err)
	}
	return index, nil
}

// failedRead classifies a read that failed: nothing was written.
func failedRead(ctx context.Context) Outcome {
	if ctx.Err() != nil {
		return Outcome{Verdict: Expired}
	}
	return Outcome{Verdict: NotProposed}
}
