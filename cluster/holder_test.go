package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/queue"
)

// testCaller is a client of a test.
type testCaller holders.Holder

func (c testCaller) Caller() holders.Holder { return holders.Holder(c) }

// calling returns the context of a client of node i.
func (c *nodes) calling(i int) (context.Context, holders.Holder) {
	by := holders.Holder{Address: fmt.Sprintf("10.0.0.%d:4000", i+1), AccessKey: fmt.Sprint("key", i+1)}
	return context.WithValue(clustertest.Context(c.t), holders.CallerKey{}, testCaller(by)), by
}

// holder returns the client that holds group g according to node i, and the members that did not
// answer.
func (c *nodes) holder(i int) (Holder, []string) {
	c.t.Helper()
	var found queue.GroupInfo
	ctx := clustertest.Context(c.t)
	if _, err := c.nodes[i].Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if found, refused = v.Group(fifo, "g"); refused != nil {
			return refused
		}
		return nil
	}); err != nil {
		c.t.Fatal(err)
	}
	return c.nodes[i].HolderOf(ctx, fifo, &found)
}

// Every node finds the client that holds a group, whichever node served the client and whichever
// leads. A node loses this knowledge when it restarts.
func TestEveryNodeFindsTheHolder(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	c.create(c.leader(), fifo)
	c.send(0, fifo, "a")
	c.send(0, fifo, "b")
	served := c.followers()[0]
	ctx, by := c.calling(served)
	wanted := func(by holders.Holder, served int) {
		t.Helper()
		for i := range c.nodes {
			h, missing := c.holder(i)
			if h.Holder != by || h.Node != c.configs[served].NodeName || h.Since == 0 || len(missing) > 0 {
				t.Errorf("node %d finds %+v, missing %v; want %+v of node %d", i, h, missing, by, served)
			}
		}
	}
	receive := func(ctx context.Context, i int, cmd *queue.ReceiveMessages) {
		t.Helper()
		cmd.Queue = fifo
		reply, err := c.nodes[i].Receive(ctx, cmd, 0)
		if err != nil || len(reply.Result.(queue.MessagesReceived).Messages) != 1 {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	receive(ctx, served, &queue.ReceiveMessages{VisibilityTimeout: queue.Some(600), AttemptID: "attempt", AttemptIDGiven: true})
	wanted(by, served)
	c.handOver()
	wanted(by, served)
	// The receive is repeated at another node, under its attempt id.
	other := (served + 1) % 3
	ctx, by = c.calling(other)
	receive(ctx, other, &queue.ReceiveMessages{VisibilityTimeout: queue.Some(600), AttemptID: "attempt", AttemptIDGiven: true})
	if h, _ := c.holder(other); h.Holder != by {
		t.Errorf("the node that repeated the receive finds %+v", h)
	}
	c.submit(0, &queue.ReleaseGroup{Queue: fifo, Group: "g"})
	lead := c.leader()
	ctx, by = c.calling(lead)
	reply, err := c.nodes[lead].AcceptSession(ctx, &queue.AcceptSession{Queue: fifo, LockSeconds: queue.Some(600)}, 0)
	locked, ok := reply.Result.(queue.SessionLocked)
	if err != nil || !ok || locked.SessionID != "g" {
		t.Fatalf("%+v, %v", reply, err)
	}
	wanted(by, lead)
	c.submit(0, &queue.ReleaseSession{Queue: fifo, Session: queue.SessionRef{SessionID: "g", Token: locked.Token.String()}})
	receive(clustertest.Context(t), lead, &queue.ReceiveMessages{VisibilityTimeout: queue.Some(600)}) // without a client
	for i := range c.nodes {
		if h, missing := c.holder(i); h != (Holder{}) || len(missing) > 0 {
			t.Errorf("node %d finds %+v, missing %v, of a receive that no node served", i, h, missing)
		}
	}
	c.close(served)
	for i, n := range c.nodes {
		if n == nil {
			continue
		}
		c.waitReady(i)
		if h, missing := c.holder(i); h != (Holder{}) || !slices.Equal(missing, []string{c.configs[served].NodeName}) {
			t.Errorf("node %d finds %+v, missing %v, while node %d is away", i, h, missing, served)
		}
	}
}

// An older program refuses an unknown question, so that a newer one sees that it cannot answer.
func TestUnknownQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	asker := c.nodes[c.followers()[0]]
	request := membership.Request{Op: "later", From: asker.process.nodeID, Cluster: asker.process.clusterID(), Final: true}
	for _, id := range asker.members.OtherMembers() {
		answer, err := peernet.Ask[membership.Answer](clustertest.Context(t), asker.process.network, id, peernet.KindMembership, 0, request)
		if err != nil || answer.Verdict == membership.Done {
			t.Errorf("node %s answered %+v, %v", id, answer, err)
		}
	}
}
