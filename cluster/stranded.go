package cluster

import (
	"context"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/cluster/discovery"
)

// A voter can lose sight of a leader that a majority still sees: only the line
// between these two is broken. No election helps it, since the others, who hear
// the leader, give it no vote, and rightly. It is stranded: clients that ask it
// get no answer, although it and a third node would be a majority by themselves.
//
// It then asks the others for help. A voter that hears the leader finds out
// whether it reaches everybody whom the leader reaches, and the stranded one as
// well; if so it offers to take over, and the leader hands over to it. Each such
// change makes the leader one that reaches more voters than the one before, so
// that two nodes cannot pass leadership to and fro.

func (s *suspicion) askForHelp(ctx context.Context) {
	for _, voter := range s.voters() {
		if voter == s.nodeID || s.leadership().LeaderID != "" || ctx.Err() != nil {
			continue
		}
		// Whether it could help shows when there is a leader.
		if _, err := s.put(ctx, voter, doubtQuestion{Stranded: s.nodeID}, suspicionBudget); err != nil {
			s.log.Debug("no help from a voter", "peer", voter, "error", err)
		}
	}
}

// help offers to lead in the place of a leader that does not reach the stranded
// voter.
func (s *suspicion) help(ctx context.Context, stranded string) {
	leader := s.leadership()
	voters := s.voters()
	if leader.LeaderID == "" || leader.Self || !slices.Contains(voters, s.nodeID) || !slices.Contains(voters, stranded) {
		return
	}
	question := doubtQuestion{Leader: leader.LeaderID, Term: leader.Term, Stranded: stranded}
	answer, err := s.put(ctx, leader.LeaderID, question, leaderBudget)
	if err != nil || !answer.Leads || slices.Contains(answer.Heard, stranded) || !s.reaches(ctx, answer.Heard) {
		return
	}
	question.Successor = s.nodeID
	if _, err = s.put(ctx, leader.LeaderID, question, leaderBudget); err == nil {
		s.log.Warn("offered to lead instead of a node that does not reach a voter", "leader", leader.LeaderID, "voter", stranded)
	}
}

// reaches reports whether all of these nodes answer this one.
func (s *suspicion) reaches(ctx context.Context, nodes []string) bool {
	var asking sync.WaitGroup
	var mu sync.Mutex
	all := true
	for _, node := range nodes {
		if node == s.nodeID {
			continue
		}
		asking.Go(func() {
			if _, err := s.put(ctx, node, doubtQuestion{}, leaderBudget); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = false
			}
		})
	}
	asking.Wait()
	return all
}

// makeWay is called at the leader when a voter has offered to lead.
func (s *suspicion) makeWay(ctx context.Context, question doubtQuestion) {
	heard := s.heard()
	if slices.Contains(heard, question.Stranded) || !slices.Contains(heard, question.Successor) || !s.mayLead(question.Successor) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	s.log.Warn("handing over leadership", "reason", "the successor reaches a voter that this node does not reach", "successor", question.Successor, "voter", question.Stranded)
	if err := s.transfer(ctx, question.Successor); err != nil {
		s.log.Warn("leadership could not be handed over", "error", err)
	}
}

// heardVoters are the voters that answered this leader within a heartbeat timeout.
func (g *raftGroup) heardVoters() []string {
	var heard []string
	for _, voter := range g.voters() {
		if age, _, known := g.contacts.Last(voter); known && age <= g.cfg.Timing.Heartbeat {
			heard = append(heard, voter)
		}
	}
	return heard
}

// MayLead reports whether gossip tells nothing against a voter as leader.
func (g *raftGroup) mayLead(nodeID string) bool {
	return slices.ContainsFunc(g.gossip.View(), func(m discovery.Member) bool {
		return m.NodeID == nodeID && !m.Drained && g.flawOf(m) == ""
	})
}
