package election

import (
	"context"
	"slices"
	"sync"
	"time"
)

// successorPause separates attempts to hand over to the same successor after a failure. Voters ask
// again within a second, but no entry is written during an attempt: the library waits for an
// election timeout or longer while the successor catches up.
const successorPause = 10 * time.Second

// attempts records handovers to voters that ask for one. Safe for concurrent use.
type attempts struct {
	mu     sync.Mutex
	under  bool                     // one is in progress
	failed map[string]time.Duration // by node id: time of the last failure, on the monotonic clock
}

// begin reports whether an attempt may begin now, and begins it.
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

// handOver hands leadership to a voter that has offered to lead.
func (d *FailureDetector) handOver(ctx context.Context, q question) {
	heard := d.consensus.HeardVoters()
	if slices.Contains(heard, q.Isolated) || !slices.Contains(heard, q.Successor) || !d.consensus.MayLead(q.Successor) {
		return
	}
	reason := "a majority gets no answers to its calls"
	if q.Isolated != "" {
		if _, err := d.ask(ctx, q.Isolated, question{}, voterBudget); err == nil {
			return // its link has recovered
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
