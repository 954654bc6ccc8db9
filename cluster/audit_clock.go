package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
)

const (
	// idleIntervalsMax is after how many intervals an audit is written even if few
	// entries were: in a cluster that writes little, 10,000 entries can take days.
	idleIntervalsMax = 60
	// reportIntervalsMax is for how many intervals an audit waits for reports on the
	// one before. They are usually missing because a node is slow or down, and an
	// audit without reports compares nothing.
	reportIntervalsMax = 10
)

// auditClock decides when an audit is due in one leader term: after the interval and
// after the number of entries, whichever comes later, and never when nothing was written
// since the last one, so that an idle cluster stays idle.
type auditClock struct {
	auditor *auditor
	policy  AuditPolicy
	clock   Clock
	applied func() uint64
	since   uint64        // applied when the term began, the last audit if none is known
	last    time.Duration // of the last audit or of the beginning, on the monotonic clock
}

// writeAudits proposes the audits of a leader term.
func (n *Node) writeAudits(ctx context.Context, t *leader.Term) {
	k := auditClock{
		auditor: n.auditor, policy: n.cfg.Log.Audit, clock: n.cfg.Clock, applied: n.replica.AppliedIndex,
		since: n.replica.AppliedIndex(), last: n.cfg.Clock.Monotonic(),
	}
	ticks := time.NewTicker(k.policy.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		members := n.group.Stats().Members
		if !k.due(members) {
			continue
		}
		if err := t.Execute(ctx, n.auditor.next(members)); err != nil {
			n.log.Debug("writing an audit failed", "error", err)
			continue
		}
		k.last = k.clock.Monotonic()
	}
}

func (k *auditClock) due(members []Member) bool {
	policy := k.policy
	waited := k.clock.Monotonic() - k.last
	if !k.auditor.heard(members) && waited < reportIntervalsMax*policy.Interval {
		return false
	}
	if k.auditor.split.Load() {
		return true // after a repair the alarm should end at once
	}
	last := k.auditor.newest().index
	if last == 0 {
		last = k.since
	}
	entries := k.applied() - last
	return entries >= policy.Entries || entries > 0 && waited >= idleIntervalsMax*policy.Interval
}
