package membership

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
)

// promotionInterval is the time between two checks of the learners. Without learners a check
// costs next to nothing.
const promotionInterval = time.Second

// promoteLearners gives a vote to learners that keep up, while there are fewer voters than wanted.
// ctx ends with the leader's term. A voter that is down counts: only an operator can decide that it
// will not come back.
func (c *Coordinator) promoteLearners(ctx context.Context) {
	keepsUp := map[string]time.Duration{} // since when, on the monotonic clock
	tick := time.NewTicker(promotionInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if len(c.node.Group.Members().Learners) == 0 {
			clear(keepsUp)
			continue
		}
		list := c.memberList()
		next := c.nextToPromote(list, keepsUp)
		if next == "" {
			continue
		}
		if !c.tryLock() {
			continue
		}
		err := c.node.Group.ChangeMembers(ctx, list.Index, consensus.MakeVoter, next)
		c.unlock()
		if err != nil {
			c.node.Log.Warn("a learner could not be promoted, trying again", "member", next, "error", err)
			continue
		}
		c.node.Log.Info("a learner has caught up and votes now", "member", next)
	}
}

// nextToPromote returns a learner that has kept up for long enough, empty if there is none.
func (c *Coordinator) nextToPromote(list MemberList, keepsUp map[string]time.Duration) string {
	now := c.node.Clock.Monotonic()
	next := ""
	for _, m := range list.Members {
		if m.Role != RoleLearner || list.checkPromotion(m) != nil {
			delete(keepsUp, m.NodeID)
			continue
		}
		since, known := keepsUp[m.NodeID]
		if !known {
			since = now
			keepsUp[m.NodeID] = now
		}
		if next == "" && list.obstacle(m) == "" && now-since >= c.node.Policy.PromoteAfter {
			next = m.NodeID
		}
	}
	return next
}

// obstacle returns the reason why a learner that keeps up is not promoted automatically.
func (l MemberList) obstacle(learner MemberStatus) string {
	for _, m := range l.Members {
		if m.Name == learner.Name && m.NodeID != learner.NodeID && m.Role != RoleLearner {
			return fmt.Sprintf("voter %s has the same name: seriatim cluster replace %s", m.NodeID, m.Name)
		}
	}
	if voters, _ := l.voters(""); voters >= l.Voters {
		return fmt.Sprintf("there are %d voters already: seriatim cluster promote %s", voters, learner.NodeID)
	}
	return ""
}

// addNotes adds for operators the reason why each learner has no vote yet.
func (c *Coordinator) addNotes(list *MemberList) {
	for i := range list.Members {
		m := &list.Members[i]
		if m.Role != RoleLearner {
			continue
		}
		if refusal := list.checkPromotion(*m); refusal != nil {
			m.Note = refusal.Error()
		} else if m.Note = list.obstacle(*m); m.Note == "" {
			m.Note = fmt.Sprintf("is promoted when it has kept up for %v", c.node.Policy.PromoteAfter)
		}
	}
}
