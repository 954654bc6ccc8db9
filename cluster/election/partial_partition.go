package election

import (
	"context"
	"slices"
	"sync"
	"time"
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
// Unless it is the voter's own line that is bad: a slow one is free for a question of
// any other node, and full as soon as that node leads and sends entries. So a leader
// that took over for a voter's sake stays, for a time, if it loses that voter, too.

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
	d.offers.note(isolated, d.options.Clock.Monotonic())
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
	return err == nil && a.Leads && !a.Stays && !slices.Contains(a.Heard, isolated) && d.reachesAll(ctx, a.Heard)
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

// handOver is called at the leader when a voter has offered to lead.
func (d *FailureDetector) handOver(ctx context.Context, q question) {
	heard := d.consensus.HeardVoters()
	if slices.Contains(heard, q.Isolated) || !slices.Contains(heard, q.Successor) || !d.consensus.MayLead(q.Successor) || d.tookOverFor(q.Isolated) {
		return
	}
	d.options.Log.Warn("handing over leadership", "reason", "the successor reaches a voter that this node does not reach", "successor", q.Successor, "voter", q.Isolated)
	if err := d.consensus.Transfer(ctx, q.Successor); err != nil {
		d.options.Log.Warn("leadership could not be handed over", "error", err)
	}
}

// stayTime is for how long a leader stays that took over for a voter's sake. In a
// partition that moves, the voter is without a leader for so long.
const stayTime = 2 * time.Minute

// tookOverFor reports whether this node offered to lead for a voter's sake of late.
func (d *FailureDetector) tookOverFor(voter string) bool {
	at, offered := d.offers.of(voter)
	return offered && d.options.Clock.Monotonic()-at < stayTime
}

// offers are the times of this node's offers to lead, by the voter for whose sake
// they were made, on the monotonic clock. Safe for concurrent use.
type offers struct {
	mu   sync.Mutex
	last map[string]time.Duration
}

func (o *offers) note(voter string, at time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[voter] = at
}

func (o *offers) of(voter string) (at time.Duration, offered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, offered = o.last[voter]
	return at, offered
}
