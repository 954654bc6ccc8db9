package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
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

// auditClock says when an audit is due in one leader term: after the interval and after the
// number of entries, whichever comes later, and never when nothing was written
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
	if !k.auditor.heard(members) && waited < patientAudits*policy.Interval {
		return false
	}
	if k.auditor.split.Load() {
		return true // whoever mends it should see at once that it is mended
	}
	last := k.auditor.newest().index
	if last == 0 {
		last = k.since
	}
	entries := k.applied() - last
	return entries >= policy.Entries || entries > 0 && waited >= slowAudits*policy.Interval
}
