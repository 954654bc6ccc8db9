package servicebus

import (
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

func forwardTo(value string) queue.Attribute { return queue.Attribute{Name: "ForwardTo", Value: value} }

// A message goes from a queue through a topic and a subscription to a queue, with all its sections. Nothing
// can be received on its way.
func TestForward(t *testing.T) {
	f := newFixture(t, nil)
	end, topic, s := f.create(plain), f.createTopic(), f.session()
	middle := f.subscribe(topic, "one", plain, forwardTo(end+".fifo"))
	first := f.create(plain, forwardTo("topic:"+entity.QueueName(topic)))
	for _, path := range []string{first, middle, middle + "/"} {
		_, err := s.NewReceiver(t.Context(), path, nil)
		wantCondition(t, err, "amqp:not-allowed")
	}
	session := "s1"
	sent := newMessage("id 1", "body")
	sent.Properties.GroupID = &session
	sent.ApplicationProperties = map[string]any{"n": int16(5)}
	sent.Annotations = client.Annotations{"x-opt-partition-key": session}
	clustertest.Must(t, f.sender(s, first).Send(t.Context(), sent, nil))
	in := f.receiver(s, end, nil)
	got := f.receive(in)
	if got.Properties.MessageID != "id 1" || *got.Properties.GroupID != session || string(got.GetData()) != "body" ||
		got.ApplicationProperties["n"] != int16(5) || got.Annotations[annotationPartition] != session ||
		got.Annotations[annotationSequence] != int64(1) {
		t.Errorf("got %+v %+v", got, got.Properties)
	}
	clustertest.Must(t, in.AcceptMessage(t.Context(), got))
}

// A message that cannot be forwarded is peeked at and received in the transfer dead-letter queue. Dead
// letters are forwarded, too.
func TestTransferDeadLetterQueue(t *testing.T) {
	f := newFixture(t, nil)
	end, s := f.create(plain), f.session()
	forwards := queue.Attribute{Name: "ForwardDeadLetteredMessagesTo", Value: end + ".fifo"}
	path := f.create(withSessions, forwardTo(end+".fifo"), forwards)
	transfer := path + "/$Transfer/$DeadLetterQueue"
	out := f.sender(s, path)
	session := "s1"
	send := func(id string) {
		t.Helper()
		clustertest.Must(t, out.Send(t.Context(), inSession(id, "body", session), nil))
	}
	f.setStatus(end+".fifo", "SendDisabled")
	send("1")
	m := f.manage(s, transfer+"/$management")
	peek := map[string]any{"from-sequence-number": int64(0), "message-count": int32(10)}
	if peeked := encodedMessages(t, m.want(200, "peek-message", peek)); len(peeked) != 1 || peeked[0].Properties.MessageID != "1" {
		t.Errorf("peeked %v", peeked)
	}
	for _, address := range []string{path + "/$transfer/$deadletterqueue", "amqps://h/" + transfer} {
		_, err := s.NewSender(t.Context(), address, nil)
		wantCondition(t, err, "amqp:not-allowed")
	}
	in := f.receiver(s, "amqps://h/"+transfer, nil)
	got := f.receive(in)
	if got.Properties.MessageID != "1" || *got.Properties.GroupID != session ||
		got.ApplicationProperties["DeadLetterReason"] != "MessagingEntityDisabledException" ||
		got.ApplicationProperties["DeadLetterErrorDescription"] != "The entity "+end+".fifo is disabled." ||
		got.Annotations[annotationDeadLetterFrom] != path {
		t.Errorf("got %+v %+v", got, got.Properties)
	}
	clustertest.Must(t, in.AcceptMessage(t.Context(), got))

	f.setStatus(end+".fifo", "Active")
	_, err := node.Submit(t.Context(), &queue.SetQueueAttributes{Queue: path + ".fifo", Attributes: []queue.Attribute{forwardTo("")}})
	clustertest.Must(t, err)
	send("2")
	from := f.receiver(s, path, sessionOptions(session))
	clustertest.Must(t, from.RejectMessage(t.Context(), f.receive(from), nil))
	if dead := f.receive(f.receiver(s, end, nil)); dead.Properties.MessageID != "2" || *dead.Properties.GroupID != session {
		t.Errorf("got %+v", dead)
	}
	// An entity that never forwarded has no such queue, and a topic none at all.
	for _, other := range []string{end, f.createTopic(), path + "/$Transfer"} {
		_, err := s.NewReceiver(t.Context(), other+"/$Transfer/$DeadLetterQueue", nil)
		wantCondition(t, err, "amqp:not-found")
	}
}
