package cluster

import (
	"context"
	"time"
)

const (
	// slowAudits bounds how long a cluster in which little is written goes without
	// an audit: so many intervals, where ten thousand entries would take days.
	slowAudits = 60
	// patientAudits is for how many intervals an audit waits for reports on the one
	// before. Without them it would compare nothing, and a node that is slow, or
	// one that is down, is the usual reason that they are missing.
	patientAudits = 10
)

// auditClock proposes the audits of one tenure: after the interval and after the
// number of entries, whichever comes later, and never when nothing was written
// since the last one, so that an idle cluster stays idle.
type auditClock struct {
	tenure *tenure
	since  uint64        // applied when the tenure began, the last audit if none is known
	last   time.Duration // of the last audit or of the beginning, on the monotonic clock
}

func (t *tenure) runAudits(ctx context.Context) {
	if t.auditor == nil {
		return // a tenure without replicas, in tests
	}
	k := auditClock{tenure: t, since: t.replica.AppliedIndex(), last: t.clock.Monotonic()}
	ticks := time.NewTicker(t.auditPolicy.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		members := t.group.Stats().Members
		if !k.due(members) {
			continue
		}
		if err := t.execute(ctx, t.auditor.next(members)); err != nil {
			t.log.Debug("writing an audit failed", "error", err)
			continue
		}
		k.last = t.clock.Monotonic()
	}
}

func (k *auditClock) due(members []Member) bool {
	auditor, policy := k.tenure.auditor, k.tenure.auditPolicy
	waited := k.tenure.clock.Monotonic() - k.last
	if !auditor.heard(members) && waited < patientAudits*policy.Interval {
		return false
	}
	if auditor.split.Load() {
		return true // whoever mends it should see at once that it is mended
	}
	last := auditor.newest().index
	if last == 0 {
		last = k.since
	}
	entries := k.tenure.replica.AppliedIndex() - last
	return entries >= policy.Entries || entries > 0 && waited >= slowAudits*policy.Interval
}
