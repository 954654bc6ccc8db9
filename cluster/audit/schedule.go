package audit

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
)

// Node is the part of the node that Run uses.
type Node struct {
	Group   *consensus.Group
	Replica *fsm.FSM
	// Report sends a report to the leader.
	Report func(ctx context.Context, leader consensus.Leadership, report *peerpb.Audit) (received bool)
	Fatal  func(error) // ends the process
}

// resendPause is the time before a node sends a report again.
const resendPause = time.Second

// Run evaluates audits and reports the notes of this node to the leader, until ctx ends.
func (a *Auditor) Run(ctx context.Context, n Node) {
	sent, sentTerm := uint64(0), uint64(0)
	for {
		changed := n.Group.LeadershipChanged()
		for _, c := range a.takeComparisons() {
			if err := a.evaluate(c, n.Replica.Position()); err != nil {
				n.Fatal(err)
			}
		}
		var again <-chan time.Time
		known, own := n.Group.Leadership(), a.newest()
		if own.index > 0 && known.LeaderID != "" && !known.Self && (sent != own.index || sentTerm != known.Term) {
			report := &peerpb.Audit{NodeId: a.NodeID, HashVersion: a.hashVersion, Index: own.index, State: own.hashes.state[:],
				Chain: own.hashes.chain[:]}
			if n.Report(ctx, known, report) {
				sent, sentTerm = own.index, known.Term
			} else {
				again = time.After(resendPause)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-a.applied:
		case <-changed:
		case <-again:
		}
	}
}

const (
	// idleIntervalsMax is the number of intervals after which an audit is written for few
	// entries, too. In a cluster that writes little, 10,000 entries can take days.
	idleIntervalsMax = 60
	// reportIntervalsMax is the number of intervals that an audit waits for reports on the
	// one before. A report is usually missing because a node is slow or down, and an audit
	// without reports compares nothing.
	reportIntervalsMax = 10
)

// schedule decides when an audit is due in one leader term: after the interval and after
// the number of entries, whichever comes later. No audit is due when nothing was written
// since the last one, so that an idle cluster stays idle.
type schedule struct {
	*Auditor
	appliedIndex func() uint64
	since        uint64        // applied when the term began, the last audit if none is known
	last         time.Duration // time of the last audit or of the beginning, monotonic
}

// WriteAudits proposes the audits of a leader term.
func (a *Auditor) WriteAudits(ctx context.Context, t *leader.Term, group *consensus.Group, replica *fsm.FSM) {
	s := schedule{Auditor: a, appliedIndex: replica.AppliedIndex, since: replica.AppliedIndex(), last: a.Clock.Monotonic()}
	ticks := time.NewTicker(a.Policy.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		members := group.Stats().Members
		if !s.due(members) {
			continue
		}
		if err := t.Execute(ctx, a.next(members)); err != nil {
			a.Log.Debug("writing an audit failed", "error", err)
			continue
		}
		s.last = a.Clock.Monotonic()
	}
}

func (s *schedule) due(members []consensus.Member) bool {
	waited := s.Clock.Monotonic() - s.last
	if !s.complete(members) && waited < reportIntervalsMax*s.Policy.Interval {
		return false
	}
	if s.Split() {
		return true // after a repair the alarm should end at once
	}
	last := s.LastIndex()
	if last == 0 {
		last = s.since
	}
	entries := s.appliedIndex() - last
	return entries >= s.Policy.Entries || entries > 0 && waited >= idleIntervalsMax*s.Policy.Interval
}
