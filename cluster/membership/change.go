package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// executeChange executes a request on the leader. The leader makes one change at a time, each
// of exactly the members that its checks have seen.
func (c *Coordinator) executeChange(ctx context.Context, r Request) Answer {
	switch r.Op {
	case OpMembers:
		list := c.memberList()
		c.addNotes(&list)
		c.probe(ctx, &list)
		return Answer{Verdict: Done, Members: &list}
	case OpIsMember:
		member, err := c.node.Group.IsMember(ctx, r.Node)
		if err != nil {
			return Answer{Verdict: Elsewhere, Text: err.Error()}
		}
		return Answer{Verdict: Done, Removed: !member}
	case OpJoin:
		return c.letJoin(ctx, r)
	}
	if !c.tryLock() {
		return answerOf(refused(RefusedBusy, "try again when it has ended", "another change of the members is in progress"))
	}
	defer c.unlock()
	var err error
	switch r.Op {
	case OpAdd:
		err = c.add(ctx, r)
	case OpRemove:
		err = c.remove(ctx, r)
	case OpPromote:
		err = c.promote(ctx, r)
	case OpReplace:
		err = c.replace(ctx, r)
	case OpTransfer:
		err = c.moveLeadership(ctx, r)
	default:
		err = refused(RefusedPolicy, "", "this version does not know the change %q", r.Op)
	}
	if err == nil {
		c.node.Sealing.Changed()
		c.node.Log.Info("changed the members", "change", r.Op, "member", r.Node, "asked_by", r.From)
	}
	return answerOf(err)
}

// changeView returns the membership for the checks of a change. It probes every member first,
// so that a member that died a second ago does not count.
func (c *Coordinator) changeView(ctx context.Context, r Request) (MemberList, error) {
	list := c.memberList()
	c.probe(ctx, &list)
	if list.LeaderID != c.node.NodeID {
		return list, fault.ErrNotLeader
	}
	if r.IfIndex != 0 && r.IfIndex != list.Index {
		return list, refused(RefusedBusy, "look at the members again, then decide",
			"the members have changed since: their index is %d, not %d", list.Index, r.IfIndex)
	}
	return list, nil
}

// find returns the member with a node id, or with a name that only one member has.
func (l MemberList) find(text string) (MemberStatus, error) {
	var named []MemberStatus
	for _, m := range l.Members {
		if m.NodeID == text {
			return m, nil
		}
		if m.Name == text {
			named = append(named, m)
		}
	}
	switch len(named) {
	case 0:
		return MemberStatus{}, refused(RefusedUnknownNode, "the members are listed by: seriatim cluster members",
			"no member has the id or the name %q", text)
	case 1:
		return named[0], nil
	}
	ids := make([]string, len(named))
	for i, m := range named {
		ids[i] = m.NodeID
	}
	return MemberStatus{}, refused(RefusedUnsafe, "say which by its node id; to put the new one in the place of the lost one: "+
		"seriatim cluster replace "+text,
		"the name %q has %d members: %s", text, len(ids), strings.Join(ids, ", "))
}

// answers reports whether a member answered when the list was made.
func (l MemberList) answers(nodeID string) bool {
	return slices.ContainsFunc(l.Members, func(m MemberStatus) bool { return m.NodeID == nodeID && m.Healthy })
}

// voters counts the voters, and the voters that answer, without one node.
func (l MemberList) voters(without string) (all, healthy int) {
	for _, m := range l.Members {
		if m.Role == RoleLearner || m.NodeID == without {
			continue
		}
		all++
		if m.Healthy {
			healthy++
		}
	}
	return all, healthy
}

func quorum(voters int) int { return voters/2 + 1 }

// retryUnsafe repeats a check while it refuses a change as unsafe: a new leader may not have
// answers from all members yet.
func (c *Coordinator) retryUnsafe(ctx context.Context, check func() error) error {
	limit := time.NewTimer(c.silenceMax() + time.Second) // longer than a silent node counts as healthy
	defer limit.Stop()
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for {
		err := check()
		var refusal *MembershipRefusal
		if err == nil || !errors.As(err, &refusal) || refusal.Kind != RefusedUnsafe {
			return err
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// add adds a node that belongs to no cluster as a learner. It first invites the node, which records
// the cluster that it joins.
func (c *Coordinator) add(ctx context.Context, r Request) error {
	list, err := c.changeView(ctx, r)
	if err != nil {
		return err
	}
	if _, err := list.find(r.Node); err == nil {
		return nil
	}
	var found []WaitingNode
	for _, w := range list.Waiting {
		if w.NodeID == r.Node || w.Name == r.Node {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		return refused(RefusedUnknownNode, "start it with an empty data directory, --join with the gossip address of a member, and "+
			"the gossip key of this cluster",
			"%d nodes that wait to be added have the id or the name %q", len(found), r.Node)
	}
	return c.addLearner(ctx, list.Index, found[0].NodeID, true)
}

// addLearner adds a learner, after an invitation if it did not ask to join.
func (c *Coordinator) addLearner(ctx context.Context, index uint64, nodeID string, invite bool) error {
	if invite {
		record := c.node.Bootstrap.joinRecord()
		answer, err := c.askNode(ctx, nodeID, Request{
			Op: OpInvite, From: c.node.NodeID, Cluster: record.ClusterID, Record: &record,
			Proof: ProofOf(c.node.GossipKey, nodeID, record.ClusterID), Final: true,
		})
		switch {
		case err != nil:
			return refused(RefusedUnsafe, "", "node %s does not answer: %v", nodeID, err)
		case answer.Verdict != Done:
			return refused(RefusedPolicy, "", "node %s does not take part: %s", nodeID, answer.Text)
		}
	}
	return c.node.Group.ChangeMembers(ctx, index, consensus.AddLearner, nodeID)
}

// remove removes a member if the others have a majority without it.
func (c *Coordinator) remove(ctx context.Context, r Request) error {
	var list MemberList
	var member MemberStatus
	err := c.retryUnsafe(ctx, func() (err error) {
		if list, err = c.changeView(ctx, r); err != nil {
			return err
		}
		if member, err = list.find(r.Node); err != nil {
			return err
		}
		return list.checkRemoval(member)
	})
	if err != nil {
		return err
	}
	if member.NodeID == c.node.NodeID {
		if err := c.TransferLeadership(ctx); err != nil {
			return refused(RefusedUnsafe, "try again", "node %s leads and could not hand leadership over first: %v", member.NodeID, err)
		}
		return fault.ErrNotLeader // the next leader removes it
	}
	return c.node.Group.ChangeMembers(ctx, list.Index, consensus.RemoveMember, member.NodeID)
}

// checkRemoval refuses to remove a voter if no majority of the remaining voters answers.
func (l MemberList) checkRemoval(member MemberStatus) error {
	if member.Role == RoleLearner {
		return nil
	}
	all, healthy := l.voters(member.NodeID)
	switch {
	case all == 0:
		return refused(RefusedUnsafe, "add another node first", "node %s is the only voter", member.NodeID)
	case healthy < quorum(all):
		return refused(RefusedUnsafe, "bring the silent nodes back first, or remove those",
			"without node %s only %d of %d voters answer, and %d are needed", member.NodeID, healthy, all, quorum(all))
	}
	return nil
}

// LagMax is the number of entries that a node may be behind and still count as caught up: it
// applies them in a moment.
const LagMax = 1024

// checkPromotion refuses a vote to a learner that does not keep up, or while voters do not
// answer: a voter that is empty or down stalls the others.
func (l MemberList) checkPromotion(member MemberStatus) error {
	all, healthy := l.voters("")
	switch {
	case !member.Healthy:
		return refused(RefusedUnsafe, "", "learner %s does not answer", member.NodeID)
	case member.LagEntries < 0 || member.LagEntries > LagMax:
		return refused(RefusedUnsafe, "wait until it has caught up", "learner %s is %d entries behind", member.NodeID, member.LagEntries)
	case healthy+1 < quorum(all+1):
		return refused(RefusedUnsafe, "bring the silent voters back first, or remove them", "only %d of %d voters answer", healthy, all)
	}
	return nil
}

func (c *Coordinator) promote(ctx context.Context, r Request) error {
	var list MemberList
	var member MemberStatus
	err := c.retryUnsafe(ctx, func() (err error) {
		if list, err = c.changeView(ctx, r); err != nil {
			return err
		}
		if member, err = list.find(r.Node); err != nil || member.Role != RoleLearner {
			return err
		}
		for _, m := range list.Members {
			if m.Name == member.Name && m.NodeID != member.NodeID && m.Role != RoleLearner {
				return refused(RefusedPolicy, "to put it in the place of the lost one: seriatim cluster replace "+m.Name,
					"voter %s has the same name as learner %s", m.NodeID, member.NodeID)
			}
		}
		return list.checkPromotion(member)
	})
	if err != nil || member.Role != RoleLearner {
		return err
	}
	return c.node.Group.ChangeMembers(ctx, list.Index, consensus.MakeVoter, member.NodeID)
}

// replacement is the plan of a replace: first remove, then promote.
type replacement struct {
	list    MemberList
	lost    []MemberStatus // members of the name that do not answer
	learner MemberStatus
	done    bool // the new node votes already
}

// replace gives the vote of a lost node to its successor of the same name. It removes the old
// node first, so that no step needs more answers than before. After an interruption the same
// command continues.
func (c *Coordinator) replace(ctx context.Context, r Request) error {
	var plan replacement
	err := c.retryUnsafe(ctx, func() (err error) {
		plan, err = c.planReplacement(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, old := range plan.lost {
		set, err := c.node.Group.CommittedMembers()
		if err != nil {
			return err
		}
		if err := c.node.Group.ChangeMembers(ctx, set.Index, consensus.RemoveMember, old.NodeID); err != nil {
			return fmt.Errorf("removing %s: %w", old.NodeID, err)
		}
		c.node.Log.Info("removed a lost node", "member", old.NodeID, "replaced_by", plan.learner.NodeID)
	}
	if plan.done {
		return nil
	}
	set, err := c.node.Group.CommittedMembers()
	if err != nil {
		return err
	}
	return c.node.Group.ChangeMembers(ctx, set.Index, consensus.MakeVoter, plan.learner.NodeID)
}

func (c *Coordinator) planReplacement(ctx context.Context, r Request) (replacement, error) {
	list, err := c.changeView(ctx, r)
	if err != nil {
		return replacement{}, err
	}
	p := replacement{list: list}
	var alive []MemberStatus
	// A node counts as lost only after some seconds of silence: it may be restarting.
	for _, m := range c.memberList().Members {
		switch {
		case m.Name != r.Node && m.NodeID != r.Node:
		case m.Role == RoleLearner && m.Healthy:
			p.learner = m
		case m.Healthy:
			alive = append(alive, m)
		default:
			p.lost = append(p.lost, m)
		}
	}
	switch {
	case len(alive) > 0 && p.learner.NodeID != "":
		return p, refused(RefusedUnsafe, "end one of the two processes; they run under one name", "voter %s still answers", alive[0].NodeID)
	case len(alive) > 0 && len(p.lost) == 0 && !list.answers(alive[0].NodeID):
		// Retried until it counts as lost, or answers.
		return p, refused(RefusedUnsafe, "try again in a few seconds", "node %s has been silent for a moment only", alive[0].NodeID)
	case len(alive) > 0 && len(p.lost) == 0:
		return p, refused(RefusedUnknownNode, "a node counts as lost a few seconds after its last message",
			"no member of the name %q is lost: %s answers", r.Node, alive[0].NodeID)
	case len(alive) > 0:
		p.done = true
	case p.learner.NodeID == "" && len(p.lost) > 0:
		return p, refused(RefusedUnsafe, "start it with an empty data directory and its old name, and wait until it is listed as a learner",
			"no new node of the name %q has joined yet", r.Node)
	case p.learner.NodeID == "":
		return p, refused(RefusedUnknownNode, "", "no member has the name %q", r.Node)
	}
	// The members after the removals.
	after := list
	after.Members = slices.DeleteFunc(slices.Clone(list.Members), func(m MemberStatus) bool {
		return slices.ContainsFunc(p.lost, func(old MemberStatus) bool { return old.NodeID == m.NodeID })
	})
	if all, healthy := after.voters(""); healthy < quorum(all) {
		return p, refused(RefusedUnsafe, "bring the other silent nodes back first",
			"only %d of %d voters would answer, and %d are needed", healthy, all, quorum(all))
	}
	if p.done {
		return p, nil
	}
	return p, after.checkPromotion(p.learner)
}

func (c *Coordinator) moveLeadership(ctx context.Context, r Request) error {
	list, err := c.changeView(ctx, r)
	if err != nil {
		return err
	}
	if c.OtherVoters() == 0 {
		return refused(RefusedUnsafe, "add another node first", "node %s is the only voter, so no node can take over", c.node.NodeID)
	}
	if r.Node == "" {
		return c.TransferLeadership(ctx)
	}
	target, err := list.find(r.Node)
	switch {
	case err != nil:
		return err
	case target.NodeID == c.node.NodeID:
		return nil
	case target.Role == RoleLearner:
		return refused(RefusedUnsafe, "promote it first", "node %s is a learner and cannot lead", target.NodeID)
	case !target.Healthy && target.LastContactMs >= 0:
		// A new leader may not have an answer yet; then the transfer itself shows whether
		// the node is there.
		return refused(RefusedUnsafe, "", "node %s does not answer", target.NodeID)
	}
	for _, s := range c.Successors() {
		if s.NodeID == target.NodeID && s.Answers && s.Unfit != "" {
			return refused(RefusedUnsafe, "choose another node, or none to leave the choice to the leader",
				"node %s would give leadership back: %s", target.NodeID, s.Unfit)
		}
	}
	return c.transferLeadership(ctx, func(ctx context.Context) error { return c.node.Group.TransferTo(ctx, target.NodeID) })
}
