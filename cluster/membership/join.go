package membership

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
//  2. It writes the record to its disk. From then on it belongs to the cluster, so that the
//     others can reach it and it never bootstraps another one.
//  3. It asks again, and the leader adds it as a learner.
//
// It also records its addition. A node with that record that is no member any more was
// removed, and stops (removal_check.go).

const (
	joinPause    = 500 * time.Millisecond // between two attempts
	joinPauseMax = 5 * time.Second
	lookMax      = 15 * time.Second // for answers from all addresses to join
)

// joinRecord returns the record for a node that joins.
func (b *Bootstrap) joinRecord() storage.Membership {
	own := b.Record()
	return storage.Membership{ClusterID: own.ClusterID, InitialMembers: own.InitialMembers, Joined: true}
}

// join records that this node joins a cluster, unless it belongs to another one or may still
// bootstrap one.
func (b *Bootstrap) join(record storage.Membership) error {
	b.deciding <- struct{}{}
	defer func() { <-b.deciding }()
	own := b.Record()
	switch {
	case own.ClusterID == record.ClusterID && (own.Added || own.Joined && !record.Added):
		return nil
	case own.ClusterID == record.ClusterID && !own.Joined:
		return errors.New("this node is one of the initial members of that cluster")
	case own.ClusterID != "" && own.ClusterID != record.ClusterID:
		return fmt.Errorf("this node belongs to cluster %s, or has pledged to belong to it", own.ClusterID)
	case own.ClusterID == "" && b.HasState():
		return errors.New("this node has data of its own")
	case record.ClusterID == "" || !record.Joined:
		return errors.New("the invitation names no cluster")
	}
	b.asked.Add(1)
	err := b.Guard.Write("write down the cluster in "+b.Dir.File(storage.MembershipName),
		func() error { return b.Dir.SetMembership(record) })
	if err != nil {
		return err
	}
	b.pledge.Store(&record)
	b.announcePledge()
	return nil
}

// ProofOf returns the proof that a node has the gossip key when it joins or is invited. It is
// empty without a key: then only the network protects the cluster.
func ProofOf(gossipKey []byte, nodeID, clusterID string) string {
	if len(gossipKey) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, gossipKey)
	mac.Write(fmt.Appendf(nil, "seriatim join %d:%s %s", len(nodeID), nodeID, clusterID))
	return hex.EncodeToString(mac.Sum(nil))
}

func (c *Coordinator) checkProof(proof, nodeID, clusterID string) error {
	if !hmac.Equal([]byte(proof), []byte(ProofOf(c.node.GossipKey, nodeID, clusterID))) {
		return refused(RefusedPolicy, "give both the same --gossip-key-file", "the gossip keys differ")
	}
	return nil
}

// acceptInvitation records that this node joins, because an operator adds it.
func (c *Coordinator) acceptInvitation(r Request) error {
	if r.Record == nil || r.Record.ClusterID != r.Cluster {
		return refused(RefusedPolicy, "", "the invitation names no cluster")
	}
	if err := c.checkProof(r.Proof, c.node.NodeID, r.Cluster); err != nil {
		return err
	}
	record := storage.Membership{ClusterID: r.Record.ClusterID, InitialMembers: r.Record.InitialMembers, Joined: true}
	if err := c.node.Bootstrap.join(record); err != nil {
		return refused(RefusedPolicy, "", "%v", err)
	}
	return nil
}

// letJoin returns the leader's answer to a node that asks to join.
func (c *Coordinator) letJoin(ctx context.Context, r Request) Answer {
	record := c.node.Bootstrap.joinRecord()
	if r.Cluster == "" {
		if err := c.checkProof(r.Proof, r.From, ""); err != nil {
			return answerOf(err)
		}
		if c.node.Policy.ManualJoin {
			return answerOf(c.waitsForOperator(r))
		}
		return Answer{Verdict: Done, Record: &record}
	}
	if err := c.checkProof(r.Proof, r.From, record.ClusterID); err != nil {
		return answerOf(err)
	}
	list := c.memberList()
	if slices.ContainsFunc(list.Members, func(m MemberStatus) bool { return m.NodeID == r.From }) {
		member, err := c.node.Group.IsMember(ctx, r.From)
		if err != nil || !member {
			return Answer{Verdict: Elsewhere, Text: "the change that adds this node is not certain yet"}
		}
		record.Added = true
		return Answer{Verdict: Done, Record: &record}
	}
	if c.node.Policy.ManualJoin {
		return answerOf(c.waitsForOperator(r))
	}
	if !c.tryLock() {
		return answerOf(refused(RefusedBusy, "", "another change of the members is in progress"))
	}
	defer c.unlock()
	if err := c.addLearner(ctx, list.Index, r.From, false); err != nil {
		return answerOf(err)
	}
	c.node.Log.Info("a node has joined as a learner", "member", r.From)
	record.Added = true
	return Answer{Verdict: Done, Record: &record}
}

func (c *Coordinator) waitsForOperator(r Request) error {
	return refused(RefusedPolicy, "seriatim cluster add "+r.From, "this cluster lets nodes join only when an operator adds them")
}

// awaitAddresses waits until gossip has an answer from every address to join, or has tried
// often enough, for a bounded time.
func (c *Coordinator) awaitAddresses(ctx context.Context) {
	limit := time.NewTimer(lookMax)
	defer limit.Stop()
	select {
	case <-c.node.Gossip.HasLooked():
	case <-limit.C:
	case <-ctx.Done():
	}
}

// joinCluster makes this node a member of the cluster that it finds. It returns when the node
// is a member or closes.
func (c *Coordinator) joinCluster(ctx context.Context) {
	waiting, pause, sighted := "", joinPause, false
	for {
		changed := c.node.Gossip.Changes()
		pledge := c.node.Bootstrap.Record()
		switch {
		case pledge.Added:
			return
		case pledge.ClusterID != "" && !pledge.Joined && c.node.Bootstrap.HasState():
			return // an initial member
		}
		err := errNothingToJoin
		if pledge.Joined || pledge.ClusterID == "" && !c.node.Policy.ManualJoin {
			if len(c.membersInSight("")) > 0 && !sighted {
				// Gossip may soon show a second cluster, and a node must not choose
				// between two.
				sighted, changed = true, nil
				c.awaitAddresses(ctx)
			} else if err = c.StepToJoin(ctx, pledge); err == nil {
				pause = joinPause
				continue
			}
		}
		if text := err.Error(); errors.Is(err, errNothingToJoin) {
			c.joinWaits.Store(nil)
		} else if c.joinWaits.Store(&text); text != waiting {
			c.node.Log.Info("not part of the cluster yet", "waiting", text)
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

// errNothingToJoin: this node sees no cluster, or may bootstrap one.
var errNothingToJoin = errors.New("there is no cluster to join")

// StepToJoin makes the next of the three steps.
func (c *Coordinator) StepToJoin(ctx context.Context, pledge storage.Membership) error {
	members := c.membersInSight(pledge.ClusterID)
	if clusters := c.node.Gossip.ClustersHeard(); pledge.ClusterID == "" && len(clusters) > 1 {
		return fmt.Errorf("several clusters are in sight (%s), and this node joins none of them. "+
			"Start it again with --join naming members of one, or give the clusters gossip keys of their own", strings.Join(clusters, ", "))
	}
	if len(members) == 0 {
		return errNothingToJoin
	}
	request := Request{Op: OpJoin, From: c.node.NodeID, Cluster: pledge.ClusterID, Node: c.node.NodeID}
	request.Proof = ProofOf(c.node.GossipKey, request.From, request.Cluster)
	last := ""
	for _, member := range members {
		answer, err := c.askNode(ctx, member, request)
		switch {
		case err != nil:
			last = err.Error()
		case answer.Verdict == Done && answer.Record != nil:
			return c.node.Bootstrap.join(*answer.Record)
		case answer.Hint != "":
			last = answer.Text + "; " + answer.Hint
		default:
			last = answer.Text
		}
	}
	return errors.New(last)
}

// membersInSight lists the live members that gossip shows: of the cluster that this node
// joins, or of all clusters.
func (c *Coordinator) membersInSight(joining string) (members []string) {
	for _, seen := range c.node.Gossip.View() {
		if !seen.Alive || !seen.HasState || seen.ClusterID == "" || joining != "" && seen.ClusterID != joining {
			continue
		}
		members = append(members, seen.NodeID)
	}
	return members
}
