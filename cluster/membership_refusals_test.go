package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/membership"
)

// answerTo returns the answer of a node to a request that came over a handshake of the node id
// from.
func answerTo(ctx context.Context, n *Node, from string, r membership.Request) membership.Answer {
	answer, _ := n.members.Questions().Answer(ctx, from, r)
	return answer
}

// Only members may change the members, and only a node that proves the gossip key joins. A refusal
// to another node names neither the cluster nor its members.
func TestOnlyMembersChangeTheMembers(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	c, _ := startGrowing(t, 2, func(cfg *Config) { cfg.Trust.GossipKey, cfg.Members.ManualJoin = key, false })
	at := c.leader()
	ctx, leader := clustertest.Context(t), c.nodes[at]
	member, cluster := c.nodes[1-at].process.nodeID, leader.process.clusterID()
	const evil = "evil-12345678"
	refusedOps := []string{membership.OpMembers, membership.OpAdd, membership.OpRemove, membership.OpPromote, membership.OpReplace,
		membership.OpTransfer, membership.OpIsMember, membership.OpProbe, membership.OpWrap, membership.OpAsk, "nonsense"}
	for _, at := range c.nodes {
		for _, tc := range []struct {
			name     string
			from, as string // of the handshake, and of the request
			cluster  string
			ops      []string
			proof    string
		}{
			{"no member", evil, evil, cluster, refusedOps, ""},
			{"no member, with a proof of the key", evil, evil, cluster, refusedOps, membership.ProofOf(key, evil, cluster)},
			{"no member in the name of one", evil, member, cluster, append(refusedOps, membership.OpJoin, membership.OpInvite), ""},
			{"no member that knows no cluster", evil, evil, "", refusedOps, ""},
			{"no member of another cluster", evil, evil, "other", refusedOps, ""},
			{"a joining node without the key", evil, evil, cluster, []string{membership.OpJoin}, ""},
			{"a joining node without the key or a cluster", evil, evil, "", []string{membership.OpJoin}, ""},
			{"a joining node with the proof of another", evil, evil, "", []string{membership.OpJoin},
				membership.ProofOf(key, "n9-12345678", "")},
			{"a joining node with the proof of its first step", evil, evil, cluster, []string{membership.OpJoin},
				membership.ProofOf(key, evil, "")},
			{"a member in the name of the leader", member, leader.process.nodeID, cluster,
				[]string{membership.OpMembers, membership.OpAdd, membership.OpRemove, membership.OpPromote, membership.OpReplace,
					membership.OpTransfer, membership.OpProbe}, ""},
		} {
			for _, op := range tc.ops {
				r := membership.Request{Op: op, From: tc.as, Cluster: tc.cluster, Node: member, Proof: tc.proof}
				answer := answerTo(ctx, at, tc.from, r)
				text, err := json.Marshal(answer)
				clustertest.Must(t, err)
				if answer.Verdict != membership.Refused || answer.Record != nil || answer.Members != nil ||
					slices.ContainsFunc([]string{cluster, member, leader.process.nodeID},
						func(secret string) bool { return strings.Contains(string(text), secret) }) {
					t.Errorf("%s asks %s for %q: %s", tc.name, at.process.nodeID, op, text)
				}
			}
		}
	}
	if list, err := leader.Members(ctx); err != nil || len(list.Members) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	// These requests are allowed.
	for _, tc := range []struct {
		name string
		from string
		r    membership.Request
	}{
		{"a removed node asks about itself", evil, membership.Request{Op: membership.OpIsMember, From: evil, Cluster: cluster, Node: evil}},
		{"a member asks about another node", member,
			membership.Request{Op: membership.OpIsMember, From: member, Cluster: cluster, Node: evil}},
		{"a member passes a question on", member, membership.Request{Op: membership.OpIsMember, From: evil, Cluster: cluster, Node: evil}},
		{"a joining node proves the key", evil,
			membership.Request{Op: membership.OpJoin, From: evil, Node: evil, Proof: membership.ProofOf(key, evil, "")}},
		{"a member passes a join on", member,
			membership.Request{Op: membership.OpJoin, From: evil, Node: evil, Proof: membership.ProofOf(key, evil, "")}},
		{"a member asks for the members", member, membership.Request{Op: membership.OpMembers, From: member, Cluster: cluster}},
		{"a member probes", member, membership.Request{Op: membership.OpProbe, From: member, Cluster: cluster}},
	} {
		if answer := answerTo(ctx, leader, tc.from, tc.r); answer.Verdict != membership.Done {
			t.Errorf("%s: %+v", tc.name, answer)
		}
	}
}
