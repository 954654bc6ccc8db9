package election

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// In a partial partition, a voter has no contact with a leader that a majority still follows: only
// the link between the two is broken. The voter is isolated. It cannot win an election, because the
// others follow the leader. Its clients get no answers, although it and a third node would be a
// majority.
//
// The isolated voter asks the others for help. A voter that follows the leader checks that it
// reaches all nodes that the leader reaches, and the isolated one too. Then it offers to lead, and
// the leader hands over to it. Each handover leads to a leader that reaches more voters than the
// one before.
//
// The exception is a voter whose own link is bad. If it loses packets, a question gets through now
// and then. If it is slow, it still carries small questions from all nodes except the leader, whose
// entries fill it. The next leader would fare no better, and leadership would alternate. So the
// offering node must reach the isolated voter several times in a row, with as many bytes as entries
// have. The leader hands over only if the voter does not answer it either.

func (d *FailureDetector) askForHelp(ctx context.Context) {
	for _, voter := range d.consensus.Voters() {
		if voter == d.options.NodeID || d.consensus.Leadership().LeaderID != "" || ctx.Err() != nil {
			continue
		}
		// Another node can help only while there is a leader.
		if _, err := d.ask(ctx, voter, question{Isolated: d.options.NodeID}, voterBudget); err != nil {
			d.options.Log.Debug("no help from a voter", "peer", voter, "error", err)
		}
	}
}

// offerToLead offers to replace a leader that does not reach an isolated voter.
func (d *FailureDetector) offerToLead(ctx context.Context, isolated string) {
	leader := d.consensus.Leadership()
	if !d.shouldOffer(ctx, leader, isolated) {
		return
	}
	q := about(leader)
	q.Isolated, q.Successor = isolated, d.options.NodeID
	if _, err := d.ask(ctx, leader.LeaderID, q, leaderBudget); err == nil {
		d.options.Log.Warn("offered to lead instead of a node that does not reach a voter", "leader", leader.LeaderID, "voter", isolated)
	}
}

// shouldOffer reports whether this voter reaches more voters than the leader.
func (d *FailureDetector) shouldOffer(ctx context.Context, leader Leadership, isolated string) bool {
	voters := d.consensus.Voters()
	if leader.LeaderID == "" || leader.Self || !slices.Contains(voters, d.options.NodeID) || !slices.Contains(voters, isolated) {
		return false
	}
	q := about(leader)
	q.Isolated = isolated
	a, err := d.ask(ctx, leader.LeaderID, q, leaderBudget)
	return err == nil && a.Leads && !slices.Contains(a.Heard, isolated) && d.reachesAll(ctx, a.Heard) && d.reachesWell(ctx, isolated)
}

const (
	// steadyProbes is the number of questions in a row that an isolated voter must answer. Each has
	// a connection of its own, about six packets without a late one.
	steadyProbes = 5
	// probePadding makes a question as long as entries. Within voterBudget, it needs a link of 4
	// Mbit/s.
	probePadding = 256 << 10
)

// reachesWell reports whether a node answers every time and could receive entries.
func (d *FailureDetector) reachesWell(ctx context.Context, node string) bool {
	for range steadyProbes {
		if _, err := d.ask(ctx, node, question{}, leaderBudget); err != nil {
			return false
		}
	}
	_, err := d.ask(ctx, node, question{Padding: strings.Repeat("-", probePadding)}, voterBudget)
	return err == nil
}

// reachesAll reports whether all nodes answer this one.
func (d *FailureDetector) reachesAll(ctx context.Context, nodes []string) bool {
	var asking sync.WaitGroup
	var mu sync.Mutex
	all := true
	for _, node := range nodes {
		if node == d.options.NodeID {
			continue
		}
		asking.Go(func() {
			if _, err := d.ask(ctx, node, question{}, leaderBudget); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = false
			}
		})
	}
	asking.Wait()
	return all
}
