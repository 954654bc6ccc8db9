package consensus

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Pacer bounds the rate at which a state is written, because the log is usually on
// the same disk. Used by one goroutine.
type Pacer struct {
	policy    SnapshotPolicy
	monotonic func() time.Duration
	// leisurely reports whether there is time, when so many bytes are written; nil: never.
	leisurely func(written int64) bool
	written   int64
	ahead     int64         // bytes written since
	since     time.Duration // the end of the last wait
}

// leisure is how many times as long bytes may take where there is time.
const leisure = 4

// NewPacer begins at the rate of the policy. Monotonic is the time since some fixed point.
func NewPacer(policy SnapshotPolicy, monotonic func() time.Duration) *Pacer {
	return &Pacer{policy: policy, monotonic: monotonic, since: monotonic()}
}

// Wrote is told of each write and waits for what is left of the time that the bytes may
// take at least. It reports false if ctx ended first. What took longer than it may is not
// made up for: the disk may be slow because it has too much to do.
func (p *Pacer) Wrote(ctx context.Context, n int) bool {
	if p.ahead += int64(n); p.ahead < p.policy.SyncBytes {
		return true
	}
	least := time.Duration(float64(p.ahead) / float64(p.policy.BytesPerSecond) * float64(time.Second))
	if p.written += p.ahead; p.leisurely != nil && p.leisurely(p.written) {
		least *= leisure
	}
	slept := wakeup.Sleep(ctx, least-(p.monotonic()-p.since))
	p.ahead, p.since = 0, p.monotonic()
	return slept
}
