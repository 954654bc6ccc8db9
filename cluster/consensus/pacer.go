package consensus

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Pacer bounds the rate at which a state is written, because the log is usually on
// the same disk. Used by one goroutine.
type Pacer struct {
	policy SnapshotPolicy
	ahead  int64 // bytes written and not yet waited for
}

// NewPacer begins at the rate of the policy.
func NewPacer(policy SnapshotPolicy) *Pacer { return &Pacer{policy: policy} }

// Wrote is told of each write and waits as long as the bytes may take at least. It
// reports false if ctx ended first.
func (p *Pacer) Wrote(ctx context.Context, n int) bool {
	if p.ahead += int64(n); p.ahead < p.policy.SyncBytes {
		return true
	}
	pause := time.Duration(float64(p.ahead) / float64(p.policy.BytesPerSecond) * float64(time.Second))
	p.ahead = 0
	return wakeup.Sleep(ctx, pause)
}
