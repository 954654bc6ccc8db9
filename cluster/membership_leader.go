package cluster

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

// executeChange executes a request on the node that leads. Changes are made one
// at a time, each of exactly the members its checks have seen.
func (n *Node) executeChange(ctx context.Context, r membershipRequest) membershipAnswer {
	switch r.Op {
	case opMembers:
		list := n.memberList()
		n.addNotes(&list)
		n.probe(ctx, &list)
		return membershipAnswer{Verdict: changeDone, Members: &list}
	case opIsMember:
		member, err := n.group.IsMember(ctx, r.Node)
		if err != nil {
			return membershipAnswer{Verdict: changeElsewhere, Text: err.Error()}
		}
		return membershipAnswer{Verdict: changeDone, Removed: !member}
	case opJoin:
		return n.letJoin(ctx, r)
	}
	select {
	case n.changing <- struct{}{}:
		defer func() { <-n.changing }()
	default:
		return answerOf(refused(RefusedBusy, "try again when it has ended", "another change of the members is under way"))
	}
	var err error
	switch r.Op {
	case opAdd:
		err = n.add(ctx, r)
	case opRemove:
		err = n.remove(ctx, r)
	case opPromote:
		err = n.promote(ctx, r)
	case opReplace:
		err = n.replace(ctx, r)
	case opTransfer:
		err = n.moveLeadership(ctx, r)
	default:
		err = refused(RefusedPolicy, "", "this version does not know the change %q", r.Op)
	}
	if err == nil {
		n.process.sealing.Changed()
		n.log.Info("changed the members", "change", r.Op, "member", r.Node, "asked_by", r.From)
	}
	return answerOf(err)
}

// changeView is the membership that a change is checked against. Every member is probed
// first, so that one that died a second ago does not count.
func (n *Node) changeView(ctx context.Context, r membershipRequest) (MemberList, error) {
	list := n.memberList()
	n.probe(ctx, &list)
	if list.LeaderID != n.process.nodeID {
		return list, fault.ErrNotLeader
	}
	if r.IfIndex != 0 && r.IfIndex != list.Index {
		return list, refused(RefusedBusy, "look at the members again, then decide", "the members have changed since: their index is %d, not %d", list.Index, r.IfIndex)
	}
	return list, nil
}

// find picks the member that a node id, or a name that only one has, means.
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
		return MemberStatus{}, refused(RefusedUnknownNode, "the members are listed by: seriatim cluster members", "no member has the id or the name %q", text)
	case 1:
		return named[0], nil
	}
	ids := make([]string, len(named))
	for i, m := range named {
		ids[i] = m.NodeID
	}
	return MemberStatus{}, refused(RefusedUnsafe, "say which by its node id; to put the new one in the place of the lost one: seriatim cluster replace "+text,
		"the name %q has %d members: %s", text, len(ids), strings.Join(ids, ", "))
}

// answers reports whether a member answered when the list was made.
func (l MemberList) answers(nodeID string) bool {
	return slices.ContainsFunc(l.Members, func(m MemberStatus) bool { return m.NodeID == nodeID && m.Healthy })
}

// voters counts the voters, and those of them that answer, without one node.
func (l MemberList) voters(without string) (all, healthy int) {
	for _, m := range l.Members {
		if m.Role == roleLearner || m.NodeID == without {
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

// retryUnsafe repeats a check while it refuses a change as unsafe, because a node that
// has just begun to lead has not heard from all members yet.
func (n *Node) retryUnsafe(ctx context.Context, check func() error) error {
	limit := time.NewTimer(n.silenceMax() + time.Second) // beyond the time after which a silent node is lost
	defer limit.Stop()
	tick := time.NewTicker(membershipRetryPause)
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

// add makes a node that belongs to no cluster a learner. It invites the node first,
// which writes down to which cluster it will belong.
func (n *Node) add(ctx context.Context, r membershipRequest) error {
	list, err := n.changeView(ctx, r)
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
		return refused(RefusedUnknownNode, "start it with an empty data directory, --join with the gossip address of a member, and the gossip key of this cluster",
			"%d nodes that wait to be added have the id or the name %q", len(found), r.Node)
	}
	return n.addLearner(ctx, list.Index, found[0].NodeID, true)
}

// addLearner adds a learner, after an invitation if it did not ask to join.
func (n *Node) addLearner(ctx context.Context, index uint64, nodeID string, invite bool) error {
	if invite {
		record := n.process.bootstrap.joinRecord()
		answer, err := n.askNode(ctx, nodeID, membershipRequest{
			Op: opInvite, From: n.process.nodeID, Cluster: record.ClusterID, Record: &record,
			Proof: n.proofOf(nodeID, record.ClusterID), Final: true,
		})
		switch {
		case err != nil:
			return refused(RefusedUnsafe, "", "node %s does not answer: %v", nodeID, err)
		case answer.Verdict != changeDone:
			return refused(RefusedPolicy, "", "node %s does not take part: %s", nodeID, answer.Text)
		}
	}
	return n.group.ChangeMembers(ctx, index, consensus.AddLearner, nodeID)
}

// remove removes a member if the others have a majority without it.
func (n *Node) remove(ctx context.Context, r membershipRequest) error {
	var list MemberList
	var member MemberStatus
	err := n.retryUnsafe(ctx, func() (err error) {
		if list, err = n.changeView(ctx, r); err != nil {
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
	if member.NodeID == n.process.nodeID {
		if err := n.TransferLeadership(ctx); err != nil {
			return refused(RefusedUnsafe, "try again", "node %s leads and could not hand leadership over first: %v", member.NodeID, err)
		}
		return fault.ErrNotLeader // the next leader removes it
	}
	return n.group.ChangeMembers(ctx, list.Index, consensus.RemoveMember, member.NodeID)
}

// checkRemoval refuses to remove a voter if those of the remaining voters that answer
// are no majority of them.
func (l MemberList) checkRemoval(member MemberStatus) error {
	if member.Role == roleLearner {
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

// learnerLagMax is how many entries a learner may be behind and still count as caught
// up, the same as for readiness.
const learnerLagMax = readyLagMax

// checkPromotion refuses to give a vote to a learner that does not keep up, or while
// voters do not answer: a voter that is empty or down stalls the others.
func (l MemberList) checkPromotion(member MemberStatus) error {
	all, healthy := l.voters("")
	switch {
	case !member.Healthy:
		return refused(RefusedUnsafe, "", "learner %s does not answer", member.NodeID)
	case member.LagEntries < 0 || member.LagEntries > learnerLagMax:
		return refused(RefusedUnsafe, "wait until it has caught up", "learner %s is %d entries behind", member.NodeID, member.LagEntries)
	case healthy+1 < quorum(all+1):
		return refused(RefusedUnsafe, "bring the silent voters back first, or remove them", "only %d of %d voters answer", healthy, all)
	}
	return nil
}

func (n *Node) promote(ctx context.Context, r membershipRequest) error {
	var list MemberList
	var member MemberStatus
	err := n.retryUnsafe(ctx, func() (err error) {
		if list, err = n.changeView(ctx, r); err != nil {
			return err
		}
		if member, err = list.find(r.Node); err != nil || member.Role != roleLearner {
			return err
		}
		for _, m := range list.Members {
			if m.Name == member.Name && m.NodeID != member.NodeID && m.Role != roleLearner {
				return refused(RefusedPolicy, "to put it in the place of the lost one: seriatim cluster replace "+m.Name,
					"voter %s has the same name as learner %s", m.NodeID, member.NodeID)
			}
		}
		return list.checkPromotion(member)
	})
	if err != nil || member.Role != roleLearner {
		return err
	}
	return n.group.ChangeMembers(ctx, list.Index, consensus.MakeVoter, member.NodeID)
}

// replacement is the plan of a replace: first remove, then promote.
type replacement struct {
	list    MemberList
	lost    []MemberStatus // members of the name that do not answer
	learner MemberStatus
	done    bool // the new node votes already
}

// replace gives the vote of a lost node to its successor of the same name. It removes
// the old one first, so that no step needs more nodes to answer than before. If it is
// interrupted, the same command continues.
func (n *Node) replace(ctx context.Context, r membershipRequest) error {
	var plan replacement
	err := n.retryUnsafe(ctx, func() (err error) {
		plan, err = n.planReplacement(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, old := range plan.lost {
		set, err := n.group.CommittedMembers()
		if err != nil {
			return err
		}
		if err := n.group.ChangeMembers(ctx, set.Index, consensus.RemoveMember, old.NodeID); err != nil {
			return fmt.Errorf("removing %s: %w", old.NodeID, err)
		}
		n.log.Info("removed a lost node", "member", old.NodeID, "replaced_by", plan.learner.NodeID)
	}
	if plan.done {
		return nil
	}
	set, err := n.group.CommittedMembers()
	if err != nil {
		return err
	}
	return n.group.ChangeMembers(ctx, set.Index, consensus.MakeVoter, plan.learner.NodeID)
}

func (n *Node) planReplacement(ctx context.Context, r membershipRequest) (replacement, error) {
	list, err := n.changeView(ctx, r)
	if err != nil {
		return replacement{}, err
	}
	p := replacement{list: list}
	var alive []MemberStatus
	// A node counts as lost only after some seconds of silence: it may be
	// starting again.
	for _, m := range n.memberList().Members {
		switch {
		case m.Name != r.Node && m.NodeID != r.Node:
		case m.Role == roleLearner && m.Healthy:
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
		return p, refused(RefusedUnknownNode, "a node counts as lost a few seconds after its last word", "no member of the name %q is lost: %s answers", r.Node, alive[0].NodeID)
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
		return p, refused(RefusedUnsafe, "bring the other silent nodes back first", "only %d of %d voters would answer, and %d are needed", healthy, all, quorum(all))
	}
	if p.done {
		return p, nil
	}
	return p, after.checkPromotion(p.learner)
}

func (n *Node) moveLeadership(ctx context.Context, r membershipRequest) error {
	list, err := n.changeView(ctx, r)
	if err != nil {
		return err
	}
	if n.votersBeside() == 0 {
		return refused(RefusedUnsafe, "add another node first", "node %s is the only voter, there is nobody to hand leadership to", n.process.nodeID)
	}
	if r.Node == "" {
		return n.TransferLeadership(ctx)
	}
	target, err := list.find(r.Node)
	switch {
	case err != nil:
		return err
	case target.NodeID == n.process.nodeID:
		return nil
	case target.Role == roleLearner:
		return refused(RefusedUnsafe, "promote it first", "node %s is a learner and cannot lead", target.NodeID)
	case !target.Healthy && target.LastContactMs >= 0:
		// A new leader may not have heard from it yet; then the transfer itself
		// shows whether it is there.
		return refused(RefusedUnsafe, "", "node %s does not answer", target.NodeID)
	}
	for _, c := range n.successors() {
		if c.nodeID == target.NodeID && c.heard && c.flaw != "" {
			return refused(RefusedUnsafe, "choose another node, or none to leave the choice to the leader", "node %s would give leadership back: %s", target.NodeID, c.flaw)
		}
	}
	return n.transferLeadership(ctx, func(ctx context.Context) error { return n.group.TransferTo(ctx, target.NodeID) })
}
