package servicebus

import (
	"strings"
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

const entityDisabledCondition = "com.microsoft:entity-disabled"

func (f *fixture) setStatus(name, status string) {
	f.t.Helper()
	set := []queue.Attribute{{Name: "EntityStatus", Value: status}}
	_, err := node.Submit(f.t.Context(), &queue.SetQueueAttributes{Queue: name, Attributes: set})
	clustertest.Must(f.t, err)
}

// A queue whose receives are disabled detaches receivers, and refuses what would remove a message. Its
// locks last: afterwards the client completes the message that it had received.
func TestDisabledQueue(t *testing.T) {
	f := newFixture(t, nil)
	path, s := f.create(plain), f.session()
	out, in := f.sender(s, path), f.receiver(s, path, nil)
	clustertest.Must(t, out.Send(t.Context(), newMessage("a", "one"), nil))
	first := f.receive(in)

	f.setStatus(path+".fifo", "ReceiveDisabled")
	wantCondition(t, in.AcceptMessage(t.Context(), first), entityDisabledCondition)
	clustertest.Must(t, out.Send(t.Context(), newMessage("b", "two"), nil))
	_, err := f.receiver(s, path, nil).Receive(t.Context(), nil)
	wantCondition(t, err, entityDisabledCondition)

	f.setStatus(path+".fifo", "Disabled")
	wantCondition(t, out.Send(t.Context(), newMessage("c", "three"), nil), entityDisabledCondition)
	_, err = f.receiver(s, path, nil).Receive(t.Context(), nil)
	wantCondition(t, err, entityDisabledCondition)

	f.setStatus(path+".fifo", "SendDisabled")
	wantCondition(t, out.Send(t.Context(), newMessage("c", "three"), nil), entityDisabledCondition)
	in = f.receiver(s, path, nil)
	if second := f.receive(in); string(second.GetData()) != "two" {
		t.Errorf("got %q", second.GetData())
	}
	f.setStatus(path+".fifo", "Active")
	clustertest.Must(t, out.Send(t.Context(), newMessage("c", "three"), nil))
	if third := f.receive(in); string(third.GetData()) != "three" {
		t.Errorf("got %q", third.GetData())
	}
}

// A disabled topic refuses messages. An active one delivers to disabled subscriptions.
func TestDisabledTopic(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic(queue.Attribute{Name: "EntityStatus", Value: "Disabled"})
	subscription, s := f.subscribe(topic, "one", plain, queue.Attribute{Name: "EntityStatus", Value: "Disabled"}), f.session()
	out := f.sender(s, topic)
	wantCondition(t, out.Send(t.Context(), newMessage("a", "one"), nil), entityDisabledCondition)
	_, err := node.Submit(t.Context(), &queue.SetTopicAttributes{
		Topic: entity.QueueName(topic), Attributes: []queue.Attribute{{Name: "EntityStatus", Value: "Active"}},
	})
	clustertest.Must(t, err)
	clustertest.Must(t, out.Send(t.Context(), newMessage("a", "one"), nil))
	f.setStatus(entity.QueueName(subscription), "Active")
	if got := f.receive(f.receiver(s, subscription, nil)); string(got.GetData()) != "one" {
		t.Errorf("got %q", got.GetData())
	}
}

// A peek is a use of a queue that is deleted when it is idle.
func TestPeekIsAUse(t *testing.T) {
	f := newFixture(t, nil)
	s, path := f.session(), f.create(plain, queue.Attribute{Name: "AutoDeleteOnIdleSeconds", Value: "300"})
	f.manage(s, path+"/$management").want(204, "peek-message", map[string]any{"from-sequence-number": int64(0), "message-count": int32(1)})
	if got := f.node.noted.Load(); got != 1 {
		t.Errorf("noted %d times", got)
	}
}

// Sends beyond the size of a queue or topic are refused. Its size has room again when messages are gone.
func TestSize(t *testing.T) {
	f := newFixture(t, nil)
	small := queue.Attribute{Name: "MaxSizeInMegabytes", Value: "1"}
	path, topic, s := f.create(plain, small), f.createTopic(small), f.session()
	subscription := f.subscribe(topic, "one", plain)
	for from, to := range map[string]string{path: path, subscription: topic} {
		out := f.sender(s, to)
		large := func(id string) *client.Message { return newMessage(id, strings.Repeat("x", 600_000)) }
		clustertest.Must(t, out.Send(t.Context(), large("a"), nil))
		wantCondition(t, out.Send(t.Context(), large("b"), nil), "amqp:resource-limit-exceeded")
		in := f.receiver(s, from, nil)
		clustertest.Must(t, in.AcceptMessage(t.Context(), f.receive(in)))
		clustertest.Must(t, out.Send(t.Context(), large("b"), nil))
	}
}
