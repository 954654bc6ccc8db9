package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// Only members may change the members, and only a node that proves the gossip key joins. The
// refusals tell a node that is no member nothing: neither the cluster nor its members.
func TestOnlyMembersChangeTheMembers(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	c, _ := startGrowing(t, 2, func(cfg *Config) { cfg.Trust.GossipKey, cfg.Members.ManualJoin = key, false })
	at := c.leader()
	ctx, leader := clustertest.Context(t), c.nodes[at]
	member, cluster := c.nodes[1-at].process.nodeID, leader.process.clusterID()
	const evil = "evil-12345678"
	refusedOps := []string{opMembers, opAdd, opRemove, opPromote, opReplace, opTransfer, opIsMember, opProbe, opWrap, opHolder, "nonsense"}
	for _, at := range c.nodes {
		for _, tc := range []struct {
			name     string
			from, as string // of the handshake, and of the request
			cluster  string
			ops      []string
			proof    string
		}{
			{"no member", evil, evil, cluster, refusedOps, ""},
			{"no member, with a proof of the key", evil, evil, cluster, refusedOps, leader.proofOf(evil, cluster)},
			{"no member in the name of one", evil, member, cluster, append(refusedOps, opJoin, opInvite), ""},
			{"no member that knows no cluster", evil, evil, "", refusedOps, ""},
			{"no member of another cluster", evil, evil, "other", refusedOps, ""},
			{"a joining node without the key", evil, evil, cluster, []string{opJoin}, ""},
			{"a joining node without the key or a cluster", evil, evil, "", []string{opJoin}, ""},
			{"a joining node with the proof of another", evil, evil, "", []string{opJoin}, leader.proofOf("n9-12345678", "")},
			{"a joining node with the proof of its first step", evil, evil, cluster, []string{opJoin}, leader.proofOf(evil, "")},
			{"a member in the name of the leader", member, leader.process.nodeID, cluster, []string{opMembers, opAdd, opRemove, opPromote, opReplace, opTransfer, opProbe}, ""},
		} {
			for _, op := range tc.ops {
				r := membershipRequest{Op: op, From: tc.as, Cluster: tc.cluster, Node: member, Proof: tc.proof}
				answer := at.membershipAnswer(ctx, tc.from, r)
				text, err := json.Marshal(answer)
				if err != nil {
					t.Fatal(err)
				}
				if answer.Verdict != changeRefused || answer.Record != nil || answer.Members != nil ||
					slices.ContainsFunc([]string{cluster, member, leader.process.nodeID}, func(secret string) bool { return strings.Contains(string(text), secret) }) {
					t.Errorf("%s asks %s for %q: %s", tc.name, at.process.nodeID, op, text)
				}
			}
		}
	}
	if list, err := leader.Members(ctx); err != nil || len(list.Members) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	// What is left to each.
	for _, tc := range []struct {
		name string
		from string
		r    membershipRequest
	}{
		{"a removed node asks about itself", evil, membershipRequest{Op: opIsMember, From: evil, Cluster: cluster, Node: evil}},
		{"a member asks about another node", member, membershipRequest{Op: opIsMember, From: member, Cluster: cluster, Node: evil}},
		{"a member passes a question on", member, membershipRequest{Op: opIsMember, From: evil, Cluster: cluster, Node: evil}},
		{"a joining node proves the key", evil, membershipRequest{Op: opJoin, From: evil, Node: evil, Proof: leader.proofOf(evil, "")}},
		{"a member passes a join on", member, membershipRequest{Op: opJoin, From: evil, Node: evil, Proof: leader.proofOf(evil, "")}},
		{"a member asks for the members", member, membershipRequest{Op: opMembers, From: member, Cluster: cluster}},
		{"a member probes", member, membershipRequest{Op: opProbe, From: member, Cluster: cluster}},
	} {
		if answer := leader.membershipAnswer(ctx, tc.from, tc.r); answer.Verdict != changeDone {
			t.Errorf("%s: %+v", tc.name, answer)
		}
	}
}

// A node pledges itself only to the node that has connected.
func TestPledgesGoToTheNodeThatAsks(t *testing.T) {
	t.Parallel()
	b := lonelyBootstrap(t, nil)
	members := []string{"a-1", "b-2", "c-3"}
	if answer, _ := b.answer(t.Context(), "c-3", bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members}); answer.Yes {
		t.Error("pledged to a node in the name of another")
	}
	if answer, _ := b.answer(t.Context(), "a-1", bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members}); !answer.Yes {
		t.Errorf("no pledge: %s", answer.Reason)
	}
}
