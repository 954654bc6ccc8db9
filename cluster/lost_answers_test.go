package cluster

import (
	"context"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/queue"
)

// deafStream is a stream whose answers are lost.
type deafStream struct {
	forward.Stream
	ctx context.Context
}

func (s deafStream) Recv() (*peerpb.AnswerFrame, error) {
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}

// deafen makes a node lose the leader's answers from now on.
func (c *nodes) deafen(i int) {
	c.t.Helper()
	n := c.nodes[i]
	known := n.group.Leadership().LeaderID
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[known] = forward.NewLink(n.stages.life, &n.running, forward.LinkOptions{
		Self: n.process.nodeID, NodeID: known, Group: thisGroup, Leads: n.currentLeader, Limits: n.cfg.Limits.leader(), Log: n.log,
		Silent: func() {}, Silence: n.cfg.Timing.Heartbeat,
		Connect: func(ctx context.Context, nodeID string) (forward.Stream, error) {
			stream, err := n.connect(ctx, nodeID)
			return deafStream{stream, ctx}, err
		},
	})
}

func (c *nodes) attribute(i int, name, attribute string) (value string) {
	c.t.Helper()
	_, err := c.nodes[i].Read(clustertest.Context(c.t), func(v queue.View) error {
		all, refusal := v.Attributes(name)
		if refusal != nil {
			return refusal
		}
		for _, a := range all {
			if a.Name == attribute {
				value = a.Value
			}
		}
		return nil
	})
	clustertest.Must(c.t, err)
	return value
}

// The answers to three commands are lost with the leader. The node that accepted them finds that
// they were applied and does not repeat them, since another client has meanwhile changed the same
// things successfully.
func TestLostAnswersAreFound(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	leader := c.leader()
	followers := c.followers()
	deaf, other := followers[0], followers[1]
	c.create(leader, standard)
	c.create(leader, fifo)
	c.agree()
	c.deafen(deaf)
	type call struct {
		cmd   queue.Command
		reply Reply
		err   error
	}
	calls := []*call{
		{cmd: &queue.SetQueueAttributes{Queue: fifo, Attributes: []queue.Attribute{{Name: "DelaySeconds", Value: "1"}}}},
		{cmd: &queue.SendMessages{Queue: standard, Entries: []queue.SendEntry{entryFor(standard, "once")}}},
		{cmd: &queue.CreateQueue{Queue: "revived"}},
	}
	var calling sync.WaitGroup
	for _, one := range calls {
		calling.Go(func() { one.reply, one.err = c.nodes[deaf].Submit(clustertest.Context(t), one.cmd) })
	}
	c.waitFor("the commands to be applied", func() (done bool) {
		c.nodes[other].ReadLocal(func(v queue.View) {
			attributes, _ := v.Typed(fifo)
			done = attributes.DelaySeconds == 1 && v.Deliverable(standard) && v.QueueExists("revived")
		})
		return done
	})
	c.submit(other, &queue.SetQueueAttributes{Queue: fifo, Attributes: []queue.Attribute{{Name: "DelaySeconds", Value: "2"}}})
	c.submit(other, &queue.DeleteQueue{Queue: "revived"})
	c.crash(leader)
	calling.Wait()
	for _, one := range calls {
		if one.err != nil {
			t.Errorf("%T: %v", one.cmd, one.err)
		}
	}
	if sent, ok := calls[1].reply.Result.(queue.MessagesSent); !ok || len(sent.Entries) != 1 ||
		sent.Entries[0].MessageID == (queue.MessageID{}) {
		t.Errorf("the send was answered with %+v", calls[1].reply)
	}
	if got := c.attribute(other, fifo, "DelaySeconds"); got != "2" {
		t.Errorf("the acknowledged change to 2 was overwritten: %s", got)
	}
	c.nodes[other].ReadLocal(func(v queue.View) {
		if v.QueueExists("revived") {
			t.Error("the deleted queue was created again")
		}
	})
	if got := c.receive(other, queue.ReceiveMessages{Queue: standard, MaxMessages: queue.Some(10)}, 0); len(got) != 1 {
		t.Errorf("%d messages, want 1", len(got))
	}
	c.open(leader)
	c.waitReady(leader)
	c.agree()
}
