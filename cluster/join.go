package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// A node with an empty disk that finds a cluster joins it in three steps:
//
//  1. It asks any member, which asks the leader, for the record of the cluster.
//  2. It writes the record down. From then on it belongs to the cluster, so that the
//     others can reach it and it never bootstraps another one.
//  3. It asks again, and the leader adds it as a learner.
//
// It also writes down that it was added. A node that was added, and is told later that
// it is no member, was removed and stops (removal_check.go).

const (
	joinPause    = 500 * time.Millisecond // between two attempts
	joinPauseMax = 5 * time.Second
	lookMax      = 15 * time.Second // for hearing from all addresses to join
)

// joinRecord is what a node that joins has to write down.
func (b *bootstrap) joinRecord() storage.Membership {
	own := b.membership()
	return storage.Membership{ClusterID: own.ClusterID, InitialMembers: own.InitialMembers, Joined: true}
}

// join writes down that this node joins a cluster, unless it belongs to another
// or may yet bootstrap one.
func (b *bootstrap) join(record storage.Membership) error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	given := b.membership()
	switch {
	case given.ClusterID == record.ClusterID && (given.Added || given.Joined && !record.Added):
		return nil
	case given.ClusterID == record.ClusterID && !given.Joined:
		return errors.New("this node is one of the initial members of that cluster")
	case given.ClusterID != "" && given.ClusterID != record.ClusterID:
		return fmt.Errorf("this node belongs to cluster %s or has pledged to", given.ClusterID)
	case given.ClusterID == "" && b.hasState():
		return errors.New("this node has data of its own")
	case record.ClusterID == "" || !record.Joined:
		return errors.New("the invitation names no cluster")
	}
	b.asked.Add(1)
	err := b.guard.Write("write down the cluster in "+b.dir.File(storage.MembershipName), func() error { return b.dir.SetMembership(record) })
	if err != nil {
		return err
	}
	b.pledge.Store(&record)
	b.announcePledge()
	return nil
}

// proofOf proves knowledge of the gossip key when a node joins or is invited. Without a
// key it is empty: then only the network protects the cluster.
func (n *Node) proofOf(nodeID, clusterID string) string {
	if len(n.cfg.Trust.GossipKey) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, n.cfg.Trust.GossipKey)
	mac.Write(fmt.Appendf(nil, "seriatim join %d:%s %s", len(nodeID), nodeID, clusterID))
	return hex.EncodeToString(mac.Sum(nil))
}

func (n *Node) checkProof(proof, nodeID, clusterID string) error {
	if !hmac.Equal([]byte(proof), []byte(n.proofOf(nodeID, clusterID))) {
		return refused(RefusedPolicy, "give both the same --gossip-key-file", "the gossip keys differ")
	}
	return nil
}

// acceptInvitation writes down that this node joins, because an operator adds it.
func (n *Node) acceptInvitation(r membershipRequest) error {
	if r.Record == nil || r.Record.ClusterID != r.Cluster {
		return refused(RefusedPolicy, "", "the invitation names no cluster")
	}
	if err := n.checkProof(r.Proof, n.process.nodeID, r.Cluster); err != nil {
		return err
	}
	record := storage.Membership{ClusterID: r.Record.ClusterID, InitialMembers: r.Record.InitialMembers, Joined: true}
	if err := n.process.bootstrap.join(record); err != nil {
		return refused(RefusedPolicy, "", "%v", err)
	}
	return nil
}

// letJoin is the leader's answer to a node that wants to join.
func (n *Node) letJoin(ctx context.Context, r membershipRequest) membershipAnswer {
	record := n.process.bootstrap.joinRecord()
	if r.Cluster == "" {
		if err := n.checkProof(r.Proof, r.From, ""); err != nil {
			return answerOf(err)
		}
		if n.cfg.Members.ManualJoin {
			return answerOf(n.waitsForOperator(r))
		}
		return membershipAnswer{Verdict: changeDone, Record: &record}
	}
	if err := n.checkProof(r.Proof, r.From, record.ClusterID); err != nil {
		return answerOf(err)
	}
	list := n.memberList()
	if slices.ContainsFunc(list.Members, func(m MemberStatus) bool { return m.NodeID == r.From }) {
		member, err := n.group.IsMember(ctx, r.From)
		if err != nil || !member {
			return membershipAnswer{Verdict: changeElsewhere, Text: "the change that adds this node is not certain yet"}
		}
		record.Added = true
		return membershipAnswer{Verdict: changeDone, Record: &record}
	}
	if n.cfg.Members.ManualJoin {
		return answerOf(n.waitsForOperator(r))
	}
	select {
	case n.changing <- struct{}{}:
		defer func() { <-n.changing }()
	default:
		return answerOf(refused(RefusedBusy, "", "another change of the members is under way"))
	}
	if err := n.addLearner(ctx, list.Index, r.From, false); err != nil {
		return answerOf(err)
	}
	n.log.Info("a node has joined as a learner", "member", r.From)
	record.Added = true
	return membershipAnswer{Verdict: changeDone, Record: &record}
}

func (n *Node) waitsForOperator(r membershipRequest) error {
	return refused(RefusedPolicy, "seriatim cluster add "+r.From, "this cluster lets nodes join only when an operator adds them")
}

// awaitLook waits until gossip has heard from every address to join, or has tried it
// often enough, for a bounded time.
func (n *Node) awaitLook(ctx context.Context) {
	limit := time.NewTimer(lookMax)
	defer limit.Stop()
	select {
	case <-n.process.gossip.HasLooked():
	case <-limit.C:
	case <-ctx.Done():
	}
}

// joinCluster makes this node a member of the cluster it finds. It returns when the node
// is a member, in whatever way it became one, or closes.
func (n *Node) joinCluster(ctx context.Context) {
	waiting, pause, sighted := "", joinPause, false
	for {
		changed := n.process.gossip.Changes()
		pledge := n.process.bootstrap.membership()
		switch {
		case pledge.Added:
			return
		case pledge.ClusterID != "" && !pledge.Joined && n.process.bootstrap.hasState():
			return // an initial member
		}
		err := errNothingToJoin
		if pledge.Joined || pledge.ClusterID == "" && !n.cfg.Members.ManualJoin {
			if len(n.membersInSight("")) > 0 && !sighted {
				// Gossip may soon tell of a second cluster, and a node must not
				// choose between two.
				sighted, changed = true, nil
				n.awaitLook(ctx)
			} else if err = n.stepToJoin(ctx, pledge); err == nil {
				pause = joinPause
				continue
			}
		}
		if text := err.Error(); errors.Is(err, errNothingToJoin) {
			n.joinWaits.Store(nil)
		} else if n.joinWaits.Store(&text); text != waiting {
			n.log.Info("not part of the cluster yet", "waiting", text)
			waiting = text
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C:
			pause = min(2*pause, joinPauseMax)
		}
		timer.Stop()
	}
}

// errNothingToJoin: this node knows of no cluster, or may bootstrap one.
var errNothingToJoin = errors.New("there is no cluster to join")

// stepToJoin does the next of the three steps.
func (n *Node) stepToJoin(ctx context.Context, pledge storage.Membership) error {
	members := n.membersInSight(pledge.ClusterID)
	if clusters := n.process.gossip.ClustersHeard(); pledge.ClusterID == "" && len(clusters) > 1 {
		return fmt.Errorf("several clusters are in sight (%s), and this node joins none of them: start it again with --join naming members of one, or give the clusters gossip keys of their own", strings.Join(clusters, ", "))
	}
	if len(members) == 0 {
		return errNothingToJoin
	}
	request := membershipRequest{Op: opJoin, From: n.process.nodeID, Cluster: pledge.ClusterID, Node: n.process.nodeID}
	request.Proof = n.proofOf(request.From, request.Cluster)
	last := ""
	for _, member := range members {
		answer, err := n.askNode(ctx, member, request)
		switch {
		case err != nil:
			last = err.Error()
		case answer.Verdict == changeDone && answer.Record != nil:
			return n.process.bootstrap.join(*answer.Record)
		case answer.Hint != "":
			last = answer.Text + "; " + answer.Hint
		default:
			last = answer.Text
		}
	}
	return errors.New(last)
}

// membersInSight lists the live members of the clusters that gossip shows: of the
// one this node joins, or of all.
func (n *Node) membersInSight(joining string) (members []string) {
	for _, seen := range n.process.gossip.View() {
		if !seen.Alive || !seen.HasState || seen.ClusterID == "" || joining != "" && seen.ClusterID != joining {
			continue
		}
		members = append(members, seen.NodeID)
	}
	return members
}
