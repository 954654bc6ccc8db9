package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/leader"
)

// promotionInterval is how often a leader checks its learners. Without learners a check
// costs next to nothing.
const promotionInterval = time.Second

// promoteLearners makes learners that keep up voters, as long as there are fewer voters
// than there should be. ctx ends with the leader's term. A voter that is down counts as
// one: only an operator knows that it will not come back.
func (n *Node) promoteLearners(ctx context.Context) {
	keepsUp := map[string]time.Duration{} // since when, on the monotonic clock
	tick := time.NewTicker(promotionInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if len(n.group.Members().Learners) == 0 {
			clear(keepsUp)
			continue
		}
		list := n.memberList()
		next := n.nextToPromote(list, keepsUp)
		if next == "" {
			continue
		}
		select {
		case n.changing <- struct{}{}:
		default:
			continue
		}
		err := n.group.ChangeMembers(ctx, list.Index, consensus.MakeVoter, next)
		<-n.changing
		if err != nil {
			n.log.Warn("a learner could not be promoted, trying again", "member", next, "error", err)
			continue
		}
		n.log.Info("a learner has caught up and votes now", "member", next)
	}
}

// nextToPromote is a learner that has kept up for long enough, empty if there is none.
func (n *Node) nextToPromote(list MemberList, keepsUp map[string]time.Duration) string {
	now := n.cfg.Clock.Monotonic()
	next := ""
	for _, m := range list.Members {
		if m.Role != roleLearner || list.checkPromotion(m) != nil {
			delete(keepsUp, m.NodeID)
			continue
		}
		since, known := keepsUp[m.NodeID]
		if !known {
			since = now
			keepsUp[m.NodeID] = now
		}
		if next == "" && list.obstacle(m) == "" && now-since >= n.cfg.Members.PromoteAfter {
			next = m.NodeID
		}
	}
	return next
}

// obstacle is why a learner that keeps up is not promoted automatically.
func (l MemberList) obstacle(learner MemberStatus) string {
	for _, m := range l.Members {
		if m.Name == learner.Name && m.NodeID != learner.NodeID && m.Role != roleLearner {
			return fmt.Sprintf("voter %s has the same name: seriatim cluster replace %s", m.NodeID, m.Name)
		}
	}
	if voters, _ := l.voters(""); voters >= l.Voters {
		return fmt.Sprintf("there are %d voters already: seriatim cluster promote %s", voters, learner.NodeID)
	}
	return ""
}

// addNotes adds for operators what each learner waits for.
func (n *Node) addNotes(list *MemberList) {
	for i := range list.Members {
		m := &list.Members[i]
		if m.Role != roleLearner {
			continue
		}
		if refusal := list.checkPromotion(*m); refusal != nil {
			m.Note = refusal.Error()
		} else if m.Note = list.obstacle(*m); m.Note == "" {
			m.Note = fmt.Sprintf("is promoted when it has kept up for %v", n.cfg.Members.PromoteAfter)
		}
	}
}

// maintainMembers is what a leader does for the members without an operator, as long as
// its term lasts.
func (n *Node) maintainMembers(ctx context.Context, _ *leader.Term) {
	n.leadsSince.Store(int64(n.cfg.Clock.Monotonic()))
	n.resignIfDrained(ctx)
	n.fitness.Notify() // it leads only now: when the term began it was taking over
	n.promoteLearners(ctx)
}
