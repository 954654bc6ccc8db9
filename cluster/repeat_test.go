package cluster

import (
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// A send of unknown outcome that is repeated after a purge is not executed as a new one: its
// outcome stays unknown.
func TestRepeatedSendAfterPurge(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	n := c.nodes[0]
	c.create(0, fifo)
	created := n.replica.LogTime()
	for n.replica.LogTime() <= created { // a first try at the moment of the queue's creation looks like one before it
		c.submit(0, &queue.AdvanceClock{})
	}
	cmd := &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{{
		Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "a", DeduplicationIDGiven: true,
	}}}
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	r := &request{kind: forward.Submit, cmd: cmd, frame: frame, minimumVersion: codec.MinimumVersion(cmd), timeout: n.cfg.Limits.Timeout}
	r.started, r.since = n.cfg.Clock.Monotonic(), n.replica.LogTime()
	c.submit(0, &queue.AdvanceClock{})
	if o := n.attempt(clustertest.Context(t), r); o.Verdict != leader.Answered || o.Response.Err != nil {
		t.Fatalf("the first try: %+v", o)
	}
	if r.repeated() || !n.retrySafe(clustertest.Context(t), r) || r.repeat() != nil || !r.repeated() {
		t.Fatal("it cannot be made again")
	}
	again := n.attempt(clustertest.Context(t), r)
	if sent, ok := again.Response.Result.(queue.MessagesSent); !ok || !sent.Entries[0].Duplicate {
		t.Fatalf("the second try: %+v", again)
	}
	c.submit(0, &queue.PurgeQueue{Queue: fifo})
	if o := n.attempt(clustertest.Context(t), r); o.Verdict != leader.Answered || o.Response.Err == nil || !n.provesNothing(r, o) {
		t.Fatalf("after a purge: %+v", o)
	}
	if got := c.receive(0, queue.ReceiveMessages{Queue: fifo}, 0); len(got) != 0 {
		t.Fatalf("one send made another message: %+v", got)
	}
}

// A publish of unknown outcome that is repeated after a change of its topic is not executed as a
// new one either.
func TestRepeatedPublishAfterAChange(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	n := c.nodes[0]
	c.createTopic(0, "t.fifo")
	created := n.replica.LogTime()
	for n.replica.LogTime() <= created {
		c.submit(0, &queue.AdvanceClock{})
	}
	cmd := &queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
		Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "a", DeduplicationIDGiven: true,
	}}}
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	r := &request{kind: forward.Submit, cmd: cmd, frame: frame, minimumVersion: codec.MinimumVersion(cmd), timeout: n.cfg.Limits.Timeout}
	r.started, r.since = n.cfg.Clock.Monotonic(), n.replica.LogTime()
	c.submit(0, &queue.AdvanceClock{})
	if o := n.attempt(clustertest.Context(t), r); o.Verdict != leader.Answered || o.Response.Err != nil {
		t.Fatalf("the first try: %+v", o)
	}
	if r.repeated() || !n.retrySafe(clustertest.Context(t), r) || r.repeat() != nil || !r.repeated() {
		t.Fatal("it cannot be made again")
	}
	again := n.attempt(clustertest.Context(t), r)
	if sent, ok := again.Response.Result.(queue.Published); !ok || !sent.Entries[0].Duplicate {
		t.Fatalf("the second try: %+v", again)
	}
	c.submit(0, &queue.SetTopicAttributes{Topic: "t.fifo",
		Attributes: []queue.Attribute{{Name: "FifoThroughputScope", Value: "MessageGroup"}}})
	if o := n.attempt(clustertest.Context(t), r); o.Verdict != leader.Answered || o.Response.Err == nil || !n.provesNothing(r, o) {
		t.Fatalf("after a change: %+v", o)
	}
}
