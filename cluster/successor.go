package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/discovery"
)

// candidate is a voter that could lead next.
type candidate struct {
	nodeID string
	// flaw is why it would hand leadership over at once, as far as gossip tells; empty
	// if it would keep it.
	flaw    string
	drained bool
	heard   bool  // it answered this leader a moment ago
	lag     int64 // entries behind this leader, as of its last answer
}

// keeps reports whether it would keep leadership.
func (c candidate) keeps() bool { return c.flaw == "" && !c.drained }

// successors are the other voters, the best to lead next first: those that answer
// before those that do not, then those that would keep leadership, then those whose
// logs are furthest. The library's own choice looks only at the logs, and waits as long
// for a voter that is gone.
func (n *Node) successors() []candidate {
	heard := map[string]discovery.Member{}
	for _, m := range n.process.gossip.View() {
		heard[m.NodeID] = m
	}
	var others []candidate
	for _, m := range n.group.Stats().Members {
		if !m.Voter || m.NodeID == n.process.nodeID {
			continue
		}
		// A follower that says nothing for a heartbeat timeout counts as gone.
		recent := m.LastContact >= 0 && time.Duration(m.LastContact)*time.Millisecond <= n.cfg.Timing.Heartbeat
		seen := heard[m.NodeID]
		others = append(others, candidate{nodeID: m.NodeID, flaw: n.process.flawOf(seen), drained: seen.Drained, heard: recent, lag: m.LagEntries})
	}
	slices.SortStableFunc(others, func(a, b candidate) int {
		return cmp.Or(compareTrue(a.heard, b.heard), compareTrue(a.keeps(), b.keeps()), cmp.Compare(a.lag, b.lag))
	})
	return others
}

// compareTrue sorts what holds before what does not.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// flawOf is why another voter should not lead, as far as gossip tells; empty if
// nothing is wrong with it.
func (p *process) flawOf(m discovery.Member) string {
	switch {
	case !m.Alive:
		return "nothing is heard of it"
	case diskLevel(m.Disk) >= diskFull:
		return "its disk is nearly full"
	case !p.clocks.MayLead(m.NodeID):
		return "its clock is off (clock-skew-max)"
	}
	return ""
}

// mayLead reports whether gossip tells nothing against a voter as leader.
func (p *process) mayLead(nodeID string) bool {
	return slices.ContainsFunc(p.gossip.View(), func(m discovery.Member) bool {
		return m.NodeID == nodeID && !m.Drained && p.flawOf(m) == ""
	})
}

// otherMayLead reports whether another voter answers that would keep leadership.
func (n *Node) otherMayLead() bool {
	return slices.ContainsFunc(n.successors(), func(c candidate) bool { return c.heard && c.keeps() })
}

// successorsTried is how many voters are asked to take over before an election decides.
const successorsTried = 2

// transferToBest hands leadership to the best successor, or to the next one. A
// leader that has just begun has heard of nobody; then the library chooses.
func (n *Node) transferToBest(ctx context.Context) error {
	others := slices.DeleteFunc(n.successors(), func(c candidate) bool { return !c.heard })
	if len(others) == 0 {
		return n.group.TransferLeadership(ctx)
	}
	var err error
	for _, c := range others[:min(len(others), successorsTried)] {
		if err = n.group.TransferTo(ctx, c.nodeID); err == nil {
			return nil
		}
		err = fmt.Errorf("to node %s: %w", c.nodeID, err)
		if ctx.Err() != nil || !n.group.Leadership().Self {
			return err
		}
	}
	return err
}
