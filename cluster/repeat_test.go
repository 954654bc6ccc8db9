package cluster

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/queue"
)

// brokenStream is a stream that breaks when broken is closed, before it gives an answer.
type brokenStream struct {
	forward.Stream
	broken <-chan struct{}
}

func (s brokenStream) Recv() (*peerpb.AnswerFrame, error) {
	<-s.broken
	return nil, io.ErrUnexpectedEOF
}

// loseAnswers makes a node lose the leader's answers until it closes the returned channel: then
// the connection breaks, and the next one works.
func (c *nodes) loseAnswers(i int) (broken chan struct{}) {
	c.t.Helper()
	n := c.nodes[i]
	broken = make(chan struct{})
	known := n.group.Leadership().LeaderID
	var again atomic.Bool
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[known] = forward.NewLink(n.stages.life, &n.running, forward.LinkOptions{
		Self: n.process.nodeID, NodeID: known, Group: thisGroup, Leads: n.currentLeader, Limits: n.cfg.Limits.leader(), Log: n.log,
		Silent: func() {}, Silence: time.Hour,
		Connect: func(ctx context.Context, nodeID string) (forward.Stream, error) {
			stream, err := n.connect(ctx, nodeID)
			if !again.Swap(true) {
				stream = brokenStream{stream, broken}
			}
			return stream, err
		},
	})
	return broken
}

// A node repeats a send or a publish whose answer was lost with the connection. The queue or topic
// recognises it. After a change that makes it forget, the repetition is refused and the outcome
// stays unknown: one send never makes two messages.
func TestRepeatedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	send := &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{{
		Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "a", DeduplicationIDGiven: true,
	}}}
	publish := &queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
		Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "b", DeduplicationIDGiven: true,
	}}}
	cases := []struct {
		name   string
		cmd    queue.Command
		change queue.Command // between the first attempt and the second
	}{
		{"a send", send, nil},
		{"a send before a purge", send, &queue.PurgeQueue{Queue: fifo}},
		{"a publish", publish, nil},
		{"a publish before a change of the topic", publish, &queue.SetTopicAttributes{Topic: "t.fifo",
			Attributes: []queue.Attribute{{Name: "FifoThroughputScope", Value: "MessageGroup"}}}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c := startNodes(t, 3, nil)
			leads := c.leader()
			c.create(leads, fifo)
			c.createTopic(leads, "t.fifo")
			created := c.nodes[leads].replica.LogTime()
			for c.nodes[leads].replica.LogTime() <= created { // an attempt at the moment of creation looks like an earlier one
				c.submit(leads, &queue.AdvanceClock{})
			}
			c.agree()
			broken := c.loseAnswers(c.followers()[0])
			index := c.nodes[leads].replica.AppliedIndex()
			type end struct {
				reply Reply
				err   error
			}
			ended := make(chan end, 1)
			sender := c.nodes[c.followers()[0]]
			go func() {
				reply, err := sender.Submit(clustertest.Context(t), test.cmd)
				ended <- end{reply, err}
			}()
			c.waitFor("the first attempt to be applied", func() bool { return c.nodes[leads].replica.AppliedIndex() > index })
			if test.change != nil {
				c.submit(leads, test.change)
			}
			close(broken)
			got := <-ended
			if test.change != nil {
				if !errors.Is(got.err, fault.ErrOutcomeUnknown) {
					t.Errorf("it ended with %+v, %v", got.reply, got.err)
				}
				if left := c.receive(leads, queue.ReceiveMessages{Queue: fifo}, 0); len(left) != 0 {
					t.Errorf("one send made another message: %+v", left)
				}
				return
			}
			duplicate := false
			switch result := got.reply.Result.(type) {
			case queue.MessagesSent:
				duplicate = result.Entries[0].Duplicate
			case queue.Published:
				duplicate = result.Entries[0].Duplicate
			}
			if got.err != nil || !got.reply.Repeated || !duplicate {
				t.Errorf("it ended with %+v, %v", got.reply, got.err)
			}
		})
	}
}
