package route

import (
	"testing"
	"time"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

const (
	standard = "orders"
	fifo     = "orders.fifo"
)

func TestRetrySafety(t *testing.T) {
	rt := &Router{}
	cases := []struct {
		name string
		cmd  queue.Command
		want bool
	}{
		{"a receive with an attempt id", &queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}, true},
		{"a receive without", &queue.ReceiveMessages{Queue: fifo}, false},
		{"a receive on a standard queue", &queue.ReceiveMessages{Queue: standard, AttemptID: "a", AttemptIDGiven: true}, false},
		{"a receive in a session with an attempt id",
			&queue.ReceiveMessages{Queue: fifo, AttemptID: "a", AttemptIDGiven: true,
				Options: &queue.ReceiveOptions{Session: queue.SessionRef{SessionID: "s"}}}, true},
		{"an acceptance with an attempt id", &queue.AcceptSession{Queue: fifo, AttemptID: "a", AttemptIDGiven: true}, true},
		{"an acceptance without", &queue.AcceptSession{Queue: fifo}, false},
		{"a delete", &queue.DeleteMessages{Queue: fifo}, true},
		{"a visibility change", &queue.ChangeMessageVisibility{Queue: fifo}, true},
		{"a queue deletion", &queue.DeleteQueue{Queue: fifo}, false},
		{"a purge", &queue.PurgeQueue{Queue: fifo}, false},
		{"a move task", &queue.StartMoveTask{Source: standard}, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := rt.retrySafe(t.Context(), &request{cmd: test.cmd}); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

// A send or a publish may be repeated if its queue or topic recognises each of its messages for long
// enough.
func TestRecognised(t *testing.T) {
	b := queue.New()
	apply := func(cmd queue.Command) {
		t.Helper()
		if _, refusal := b.Apply(1000, cmd); refusal != nil {
			t.Fatal(refusal)
		}
	}
	attribute := func(name, value string) queue.Attribute { return queue.Attribute{Name: name, Value: value} }
	fifoQueue, fifoTopic, byContent := attribute("FifoQueue", "true"), attribute("FifoTopic", "true"),
		attribute("ContentBasedDeduplication", "true")
	for name, attributes := range map[string][]queue.Attribute{
		standard: nil, fifo: {fifoQueue}, "content.fifo": {fifoQueue, byContent},
		"off.fifo": {fifoQueue, attribute("DeduplicationEnabled", "false")},
	} {
		apply(&queue.CreateQueue{Queue: name, Attributes: attributes})
	}
	for name, attributes := range map[string][]queue.Attribute{"t": nil, "t.fifo": {fifoTopic}, "content.fifo": {fifoTopic, byContent}} {
		apply(&queue.CreateTopic{Topic: name, TopicARN: "arn:aws:sns:us-east-1:000000000000:" + name, Attributes: attributes})
	}
	send := func(name string, ids ...string) queue.Command {
		cmd := &queue.SendMessages{Queue: name}
		for _, id := range ids {
			cmd.Entries = append(cmd.Entries,
				queue.SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != ""})
		}
		return cmd
	}
	publish := func(name string, ids ...string) queue.Command {
		cmd := &queue.Publish{Topic: name}
		for _, id := range ids {
			cmd.Entries = append(cmd.Entries,
				queue.PublishEntry{Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != ""})
		}
		return cmd
	}
	cases := []struct {
		name string
		cmd  queue.Command
		ago  time.Duration
		want bool
	}{
		{"a send with ids", send(fifo, "a", "b"), time.Second, true},
		{"a send, one without an id", send(fifo, "a", ""), 0, false},
		{"a send to a queue that goes by content", send("content.fifo", "a", ""), 0, true},
		{"a send to a queue without deduplication", send("off.fifo", "a"), 0, false},
		{"a send to a standard queue", send(standard, "a"), 0, false},
		{"a send to an unknown queue", send("unknown.fifo", "a"), 0, false},
		{"a send whose window could be over", send(fifo, "a"), time.Hour, false},
		{"a publish with ids", publish("t.fifo", "a", "b"), time.Second, true},
		{"a publish, one without an id", publish("t.fifo", "a", ""), 0, false},
		{"a publish to a topic that goes by content", publish("content.fifo", "a", ""), 0, true},
		{"a publish to a standard topic", publish("t", "a"), 0, false},
		{"a publish to an unknown topic", publish("unknown.fifo", "a"), 0, false},
		{"a publish whose window could be over", publish("t.fifo", "a"), time.Hour, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if got := recognised(b.View(), test.cmd, codec.RepeatingOf(test.cmd).Resend, test.ago); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}
