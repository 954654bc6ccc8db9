package election

import (
	"context"
	"slices"
	"sync"
	"time"
)

// successorPause is for how long a leader does not try a successor again that did not take
// over. Voters ask again within a second, and nothing is written during an attempt: the
// library waits for an election timeout, or longer, until a log that is behind, or a disk
// that is slow, has caught up.
const successorPause = 10 * time.Second

// attempts are those of a leader to hand over to voters that ask for it. Safe for
// concurrent use.
type attempts struct {
	mu     sync.Mutex
	under  bool                     // one is under way
	failed map[string]time.Duration // by node id: when the last one failed, on the monotonic clock
}

// begin reports whether there may be an attempt now.
func (a *attempts) begin(successor string, now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	failed, ever := a.failed[successor]
	if a.under || ever && now-failed < successorPause {
		return false
	}
	a.under = true
	return true
}

// end ends an attempt that began.
func (a *attempts) end(successor string, succeeded bool, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.under = false
	if succeeded {
		delete(a.failed, successor)
		return
	}
	if a.failed == nil {
		a.failed = make(map[string]time.Duration)
	}
	a.failed[successor] = now
}

// handOver is called at the leader when a voter has offered to lead.
func (d *FailureDetector) handOver(ctx context.Context, q question) {
	heard := d.consensus.HeardVoters()
	if slices.Contains(heard, q.Isolated) || !slices.Contains(heard, q.Successor) || !d.consensus.MayLead(q.Successor) {
		return
	}
	reason := "a majority gets no answers to its calls"
	if q.Isolated != "" {
		if _, err := d.ask(ctx, q.Isolated, question{}, voterBudget); err == nil {
			return // its line has mended
		}
		reason = "the successor reaches a voter that this node does not reach"
	}
	if !d.attempts.begin(q.Successor, d.options.Clock.Monotonic()) {
		return
	}
	d.options.Log.Warn("handing over leadership", "reason", reason, "successor", q.Successor, "voter", q.Isolated)
	err := d.consensus.Transfer(ctx, q.Successor)
	d.attempts.end(q.Successor, err == nil, d.options.Clock.Monotonic())
	if err != nil {
		d.options.Log.Warn("leadership could not be handed over", "error", err, "again after", successorPause)
	}
}
