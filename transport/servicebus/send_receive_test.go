package servicebus

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// A message comes back with the annotations of the broker, and is deleted when the client accepts it. A
// duplicate is accepted and not stored.
func TestSendAndReceive(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	out := f.sender(s, name)
	for range 2 {
		clustertest.Must(t, out.Send(t.Context(), newMessage("a", "one"), nil))
	}
	clustertest.Must(t, out.Send(t.Context(), newMessage("b", "two"), nil))
	in := f.receiver(s, name, nil)
	first := f.receive(in)
	if string(first.GetData()) != "one" || first.Properties.MessageID != "a" {
		t.Errorf("got %q %v", first.GetData(), first.Properties)
	}
	if n, ok := first.Annotations["x-opt-sequence-number"].(int64); !ok || n < 1 {
		t.Errorf("annotations %v", first.Annotations)
	}
	if len(first.DeliveryTag) != 16 {
		t.Errorf("the tag has %d bytes", len(first.DeliveryTag))
	}
	clustertest.Must(t, in.AcceptMessage(t.Context(), first))
	second := f.receive(in)
	if string(second.GetData()) != "two" {
		t.Errorf("got %q", second.GetData())
	}
	clustertest.Must(t, in.ReleaseMessage(t.Context(), second))
	again := f.receive(in)
	if again.Header.DeliveryCount != 0 {
		t.Errorf("a released message was delivered %d times", again.Header.DeliveryCount)
	}
	clustertest.Must(t, in.ModifyMessage(t.Context(), again, &client.ModifyMessageOptions{Annotations: client.Annotations{"k": int64(7)}}))
	again = f.receive(in)
	if again.Header.DeliveryCount != 1 || again.ApplicationProperties["k"] != int64(7) {
		t.Errorf("an abandoned message: %v %v", again.Header, again.ApplicationProperties)
	}
	err := in.RejectMessage(t.Context(), again, &client.Error{Condition: "com.microsoft:dead-letter", Info: map[string]any{
		"DeadLetterReason": "why", "DeadLetterErrorDescription": "because", "n": int32(3)}})
	clustertest.Must(t, err)
	dead := f.receive(f.receiver(s, name+"/$DeadLetterQueue", nil))
	if string(dead.GetData()) != "two" || dead.ApplicationProperties["DeadLetterReason"] != "why" ||
		dead.ApplicationProperties["n"] != int32(3) || dead.Annotations["x-opt-deadletter-source"] != name {
		t.Errorf("dead letter: %v %v", dead.ApplicationProperties, dead.Annotations)
	}
}

// The messages of a batch are stored as a whole or not at all.
func TestBatch(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	out := f.sender(s, name)
	clustertest.Must(t, out.Send(t.Context(), batchOf(t, newMessage("1", "one"), newMessage("2", "two"), newMessage("1", "three")), nil))
	bad := newMessage(strings.Repeat("x", 200), "bad")
	wantCondition(t, out.Send(t.Context(), batchOf(t, newMessage("3", "good"), bad), nil), notAllowed)
	in := f.receiver(s, name, nil)
	for _, want := range []string{"one", "two"} {
		m := f.receive(in)
		if string(m.GetData()) != want {
			t.Errorf("got %q, want %q", m.GetData(), want)
		}
		clustertest.Must(t, in.AcceptMessage(t.Context(), m))
	}
	clustertest.Must(t, out.Send(t.Context(), newMessage("last", "last"), nil))
	if m := f.receive(in); string(m.GetData()) != "last" {
		t.Errorf("got %q of a refused batch", m.GetData())
	}
}

// batchOf encodes messages as one of the format for batches.
func batchOf(t *testing.T, all ...*client.Message) *client.Message {
	t.Helper()
	m := &client.Message{Format: formatBatch}
	for _, one := range all {
		encoded, err := one.MarshalBinary()
		clustertest.Must(t, err)
		m.Data = append(m.Data, encoded)
	}
	return m
}

// wantCondition checks the condition of an error.
func wantCondition(t *testing.T, err error, condition string) {
	t.Helper()
	var plain *client.Error
	var ofLink *client.LinkError
	if errors.As(err, &ofLink) {
		plain = ofLink.RemoteErr
	} else {
		errors.As(err, &plain)
	}
	if plain == nil || string(plain.Condition) != condition {
		t.Errorf("got %v, want %s", err, condition)
	}
}

// Messages of a session that are sent at once are stored in their order, and those of other sessions
// beside them.
func TestOrderOfSessions(t *testing.T) {
	const sessions, messages = 5, 100
	f := newFixture(t, nil)
	name, s := f.create(withSessions), f.session()
	out := f.sender(s, name)
	var receipts []client.SendReceipt
	for i := range messages {
		for n := range sessions {
			m := newMessage(fmt.Sprintf("%d-%d", n, i), fmt.Sprint(i))
			m.Properties.GroupID = new(fmt.Sprint("s", n))
			receipt, err := out.SendWithReceipt(t.Context(), m, nil)
			clustertest.Must(t, err)
			receipts = append(receipts, receipt)
		}
	}
	for i := range receipts {
		_, err := receipts[i].Wait(t.Context())
		clustertest.Must(t, err)
	}
	for n := range sessions {
		in := f.receiver(s, name, sessionOptions(fmt.Sprint("s", n)))
		for i := range messages {
			m := f.receive(in)
			if got := string(m.GetData()); got != fmt.Sprint(i) {
				t.Fatalf("session %d: message %d is %s", n, i, got)
			}
			clustertest.Must(t, in.AcceptMessage(t.Context(), m))
		}
		clustertest.Must(t, in.Close(t.Context()))
	}
}

// A send whose outcome is unknown is not rejected: the link is detached with an error after which the
// client sends again.
func TestUnknownOutcome(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	out := f.sender(s, name)
	lost := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		if _, sends := cmd.(*queue.SendMessages); !sends {
			return next()
		}
		clustertest.Check(t, clustertest.Err(next()))
		return cluster.Reply{}, cluster.ErrOutcomeUnknown
	}
	f.node.submit.Store(&lost)
	wantCondition(t, out.Send(t.Context(), newMessage("a", "one"), nil), "amqp:link:detach-forced")
	f.node.submit.Store(nil)
	again := f.sender(s, name)
	clustertest.Must(t, again.Send(t.Context(), newMessage("a", "one"), nil))
	clustertest.Must(t, again.Send(t.Context(), newMessage("b", "two"), nil))
	in := f.receiver(s, name, nil)
	for _, want := range []string{"one", "two"} {
		if m := f.receive(in); string(m.GetData()) != want {
			t.Errorf("got %q, want %q", m.GetData(), want)
		}
	}
	busy := func(func() (cluster.Reply, error), queue.Command) (cluster.Reply, error) {
		return cluster.Reply{}, cluster.ErrOverloaded
	}
	f.node.submit.Store(&busy)
	wantCondition(t, again.Send(t.Context(), newMessage("c", "three"), nil), "com.microsoft:server-busy")
	f.node.submit.Store(nil)
}

// In the mode receive-and-delete messages are gone when they are received.
func TestReceiveAndDelete(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	out := f.sender(s, name)
	for _, id := range []string{"a", "b"} {
		clustertest.Must(t, out.Send(t.Context(), newMessage(id, id), nil))
	}
	in := f.receiver(s, name, &client.ReceiverOptions{RequestedSenderSettleMode: client.SenderSettleModeSettled.Ptr(), Credit: -1})
	clustertest.Must(t, in.IssueCredit(2))
	for _, want := range []string{"a", "b"} {
		if m := f.receive(in); string(m.GetData()) != want {
			t.Errorf("got %q, want %q", m.GetData(), want)
		}
	}
	f.wantEmpty(name)
}

// wantEmpty checks that an entity has no messages.
func (f *fixture) wantEmpty(name string) {
	f.t.Helper()
	_, err := node.Read(f.t.Context(), func(v queue.View) error {
		if left, refused := v.Peek(name+".fifo", 0, "", 10); refused != nil || len(left) > 0 {
			f.t.Errorf("%d messages are left: %v", len(left), refused)
		}
		return nil
	})
	clustertest.Must(f.t, err)
}

// A drain ends the wait for messages, and no message is locked by a client without credit.
func TestDrain(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	out := f.sender(s, name)
	in := f.receiver(s, name, &client.ReceiverOptions{SettlementMode: client.ReceiverSettleModeSecond.Ptr(), Credit: -1})
	for i := range 20 {
		clustertest.Must(t, in.IssueCredit(5))
		clustertest.Must(t, in.DrainCredit(t.Context(), nil))
		id := fmt.Sprint(i)
		clustertest.Must(t, out.Send(t.Context(), newMessage(id, id), nil))
		clustertest.Must(t, in.IssueCredit(5))
		m := f.receive(in)
		if string(m.GetData()) != id || m.Header.DeliveryCount != 0 {
			t.Fatalf("got %q after %d deliveries", m.GetData(), m.Header.DeliveryCount)
		}
		clustertest.Must(t, in.DrainCredit(t.Context(), nil))
		clustertest.Must(t, in.AcceptMessage(t.Context(), m))
	}
	f.wantEmpty(name)
}

// A settlement after the end of its lock is answered as lost.
func TestLostLock(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain, queue.Attribute{Name: "VisibilityTimeout", Value: "1"}), f.session()
	clustertest.Must(t, f.sender(s, name).Send(t.Context(), newMessage("a", "one"), nil))
	in := f.receiver(s, name, nil)
	first := f.receive(in)
	again := f.receive(in) // when the lock has ended
	wantCondition(t, in.AcceptMessage(t.Context(), first), "com.microsoft:message-lock-lost")
	clustertest.Must(t, in.AcceptMessage(t.Context(), again))
	f.wantEmpty(name)
}

// Entities that do not exist, and receivers that do not fit them, are refused.
func TestRefusedLinks(t *testing.T) {
	f := newFixture(t, nil)
	s := f.session()
	sessions, without := f.create(withSessions), f.create(plain)
	attach := func(address string, o *client.ReceiverOptions) error {
		_, err := s.NewReceiver(t.Context(), address, o)
		return err
	}
	wantCondition(t, attach("missing", nil), "amqp:not-found")
	wantCondition(t, attach(sessions, nil), "amqp:not-allowed")
	wantCondition(t, attach(without, sessionOptions("x")), "amqp:not-allowed")
	_, err := s.NewSender(t.Context(), without+"/$DeadLetterQueue", nil)
	wantCondition(t, err, "amqp:not-allowed")
	clustertest.Must(t, attach("amqps://host:5671/"+strings.ToUpper(without), nil))
	clustertest.Must(t, attach("/"+without+"/$deadletterqueue", nil))
}

// The longest path that Service Bus has is that of an entity.
func TestLongPath(t *testing.T) {
	f := newFixture(t, nil)
	path := fmt.Sprintf("%s%04d", strings.Repeat("a.", 128), queueNumber.Add(1))
	attributes := []queue.Attribute{{Name: "FifoQueue", Value: "true"}, {Name: "ImplicitDeadLetterQueue", Value: "true"}, plain}
	cmd := &queue.CreateQueue{Queue: entity.QueueName(path), Attributes: attributes}
	clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	s := f.session()
	clustertest.Must(t, f.sender(s, path).Send(t.Context(), newMessage("a", "one"), nil))
	in := f.receiver(s, strings.ToUpper(path), nil)
	m := f.receive(in)
	clustertest.Must(t, in.RejectMessage(t.Context(), m, &client.Error{Condition: "com.microsoft:dead-letter"}))
	dead := f.receive(f.receiver(s, path+"/$DeadLetterQueue", nil))
	if string(dead.GetData()) != "one" || dead.Annotations["x-opt-deadletter-source"] != path {
		t.Errorf("dead letter %v", dead.Annotations)
	}
}
