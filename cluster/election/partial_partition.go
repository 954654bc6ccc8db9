package election

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// In a partial partition a voter does not hear a leader that a majority still hears:
// only the link between these two is broken. The voter is isolated. No election helps
// it, since the others hear the leader and rightly give it no vote. Clients that ask
// it get no answer, although it and a third node would be a majority by themselves.
//
// It then asks the others for help. A voter that hears the leader finds out whether it
// reaches all whom the leader reaches, and the isolated one as well. If so it offers to
// take over, and the leader hands over to it. Each such change makes the leader one
// that reaches more voters than the one before.
//
// Unless it is the voter's own line that is bad. One that loses packets lets a question
// of any node through now and then, and one that is slow is free for small questions of
// all nodes but the leader, whose entries fill it. The next leader would fare no better,
// and leadership would go to and fro. So who offers must reach the isolated voter every
// time of several, with as many bytes as entries have; and the leader goes only if the
// voter does not answer it, either.

func (d *FailureDetector) askForHelp(ctx context.Context) {
	for _, voter := range d.consensus.Voters() {
		if voter == d.options.NodeID || d.consensus.Leadership().LeaderID != "" || ctx.Err() != nil {
			continue
		}
		// Whether it could help shows when there is a leader.
		if _, err := d.ask(ctx, voter, question{Isolated: d.options.NodeID}, voterBudget); err != nil {
			d.options.Log.Debug("no help from a voter", "peer", voter, "error", err)
		}
	}
}

// offerToLead offers to lead in the place of a leader that does not reach an
// isolated voter.
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
	// steadyProbes is how many questions in a row an isolated voter must answer. Each
	// takes a connection of its own, so half a dozen packets of which none may be late.
	steadyProbes = 5
	// probePadding makes one of them as long as entries are: with voterBudget it takes
	// a line of 4 Mbit/s.
	probePadding = 256 << 10
)

// reachesWell reports whether a node answers this one every time, and could be sent
// entries.
func (d *FailureDetector) reachesWell(ctx context.Context, node string) bool {
	for range steadyProbes {
		if _, err := d.ask(ctx, node, question{}, leaderBudget); err != nil {
			return false
		}
	}
	_, err := d.ask(ctx, node, question{Padding: strings.Repeat("-", probePadding)}, voterBudget)
	return err == nil
}

// reachesAll reports whether all of these nodes answer this one.
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
