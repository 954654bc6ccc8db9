package consensus

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Pacer limits the rate of writing a state, because the log is usually on the same disk. Used by
// one goroutine.
type Pacer struct {
	policy    SnapshotPolicy
	monotonic func() time.Duration
	// maySlowDown reports, for the bytes written so far, whether writing may slow down; nil: never.
	maySlowDown func(written int64) bool
	written     int64
	unpaced     int64         // bytes since the last wait
	since       time.Duration // end of the last wait
}

// idleSlowdown is the factor by which writing slows down if maySlowDown.
const idleSlowdown = 4

// NewPacer returns a Pacer with the rate of the policy. monotonic returns the time since some fixed
// point.
func NewPacer(policy SnapshotPolicy, monotonic func() time.Duration) *Pacer {
	return &Pacer{policy: policy, monotonic: monotonic, since: monotonic()}
}

// Wrote counts written bytes, and waits for the remainder of the time that they should take. It
// reports false if ctx ended first. Slow writes are not compensated: the disk may be overloaded.
func (p *Pacer) Wrote(ctx context.Context, n int) bool {
	if p.unpaced += int64(n); p.unpaced < p.policy.SyncBytes {
		return true
	}
	least := time.Duration(float64(p.unpaced) / float64(p.policy.BytesPerSecond) * float64(time.Second))
	if p.written += p.unpaced; p.maySlowDown != nil && p.maySlowDown(p.written) {
		least *= idleSlowdown
	}
	slept := wakeup.Sleep(ctx, least-(p.monotonic()-p.since))
	p.unpaced, p.since = 0, p.monotonic()
	return slept
}
