package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/queue/access"
)

// othersFromLeader returns the other members, the leader first.
func (c *Coordinator) othersFromLeader() (ids []string) {
	others, leader := c.OtherMembers(), c.node.Group.Leadership().LeaderID
	if leader != "" && leader != c.node.NodeID {
		ids = append(ids, leader)
	}
	for _, id := range others {
		if id != leader {
			ids = append(ids, id)
		}
	}
	return ids
}

// PublicKeys asks the other members for their public keys.
func (c *Coordinator) PublicKeys(ctx context.Context) map[string][]byte {
	keys := map[string][]byte{}
	for id, p := range c.askNodes(ctx, c.othersFromLeader(), Request{Op: OpProbe}) {
		if p.err == nil && len(p.answer.PublicKey) > 0 {
			keys[id] = p.answer.PublicKey
		}
	}
	return keys
}

// wrapBudget bounds a request for the sealing key.
const wrapBudget = 2 * time.Second

// WrappedKey is the sealing key, encrypted for the node that asked.
type WrappedKey struct {
	KeyID string `json:"keyId"`
	Text  []byte `json:"text"`
}

// AskForWrap asks the other members, one after the other, to wrap the sealing key.
func (c *Coordinator) AskForWrap(ctx context.Context, id string, publicKey []byte) (access.Wrap, error) {
	var failures []error
	for _, other := range c.othersFromLeader() {
		asking, cancel := context.WithTimeout(ctx, wrapBudget)
		answer, err := peernet.Ask[Answer](asking, c.node.Network, other, peernet.KindMembership, 0, Request{
			Op: OpWrap, From: c.node.NodeID, Cluster: c.clusterID(), PublicKey: publicKey, Final: true,
		})
		cancel()
		switch {
		case err != nil:
			failures = append(failures, err)
		case answer.Wrap == nil || answer.Wrap.KeyID != id:
			failures = append(failures, fmt.Errorf("node %s has no sealing key to give: %s", other, answer.Text))
		default:
			return access.Wrap{Holder: c.node.NodeID, PublicKey: string(publicKey), Text: string(answer.Wrap.Text)}, nil
		}
	}
	if len(failures) == 0 {
		return access.Wrap{}, errors.New("there is no other member")
	}
	return access.Wrap{}, errors.Join(failures...)
}

// wrapFor answers an OpWrap of a member.
func (c *Coordinator) wrapFor(nodeID string, publicKey []byte) Answer {
	key := c.node.Replica.Access().SealingKey()
	wrapped, err := c.node.Sealing.WrapFor(key, nodeID, publicKey)
	if err != nil {
		return answerOf(refused(RefusedPolicy, "", "%v", err))
	}
	return Answer{Verdict: Done, Wrap: &WrappedKey{KeyID: key.ID, Text: []byte(wrapped.Text)}}
}
