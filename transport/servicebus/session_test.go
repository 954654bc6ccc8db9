package servicebus

import (
	"context"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// sessionOptions are those of a receiver of a session, or of the next one.
func sessionOptions(id any) *client.ReceiverOptions {
	return &client.ReceiverOptions{
		SettlementMode: client.ReceiverSettleModeSecond.Ptr(), Credit: 10,
		Filters:    []client.LinkFilter{client.NewLinkFilter(filterSession, descriptorSession, id)},
		Properties: map[string]any{propertyTimeout: uint32(300)},
	}
}

func inSession(id, body, session string) *client.Message {
	m := newMessage(id, body)
	m.Properties.GroupID = &session
	return m
}

// A session has one receiver at a time. Its end releases the session, and the deliveries do not count.
func TestSessions(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(withSessions), f.session()
	out := f.sender(s, name)
	for _, m := range []*client.Message{inSession("1", "a", "s1"), inSession("2", "b", "s1"), inSession("3", "c", "")} {
		clustertest.Must(t, out.Send(t.Context(), m, nil))
	}
	wantCondition(t, out.Send(t.Context(), newMessage("4", "d"), nil), "amqp:not-allowed")
	in := f.receiver(s, name, sessionOptions("s1"))
	if id := in.LinkSourceFilterValue(filterSession); id != "s1" {
		t.Errorf("the session is %v", id)
	}
	if _, ok := in.Properties()[propertyLocked].(int64); !ok {
		t.Errorf("properties %v", in.Properties())
	}
	_, err := s.NewReceiver(t.Context(), name, sessionOptions("s1"))
	wantCondition(t, err, "com.microsoft:session-cannot-be-locked")
	for range 2 {
		m := f.receive(in)
		if string(m.GetData()) != "a" || m.Header.DeliveryCount != 0 {
			t.Errorf("got %q after %d deliveries", m.GetData(), m.Header.DeliveryCount)
		}
		clustertest.Must(t, in.Close(t.Context()))
		in = f.awaitSession(s, name, "s1")
	}
	other := f.receiver(s, name, sessionOptions(nil))
	if id := other.LinkSourceFilterValue(filterSession); id != "" {
		t.Errorf("the next session is %v", id)
	}
	if m := f.receive(other); string(m.GetData()) != "c" || *m.Properties.GroupID != "" {
		t.Errorf("got %q", m.GetData())
	}
	_, err = s.NewReceiver(t.Context(), name, sessionOptions(nil))
	wantCondition(t, err, "com.microsoft:timeout")
}

// awaitSession accepts a session that is being released.
func (f *fixture) awaitSession(s *client.Session, name, id string) *client.Receiver {
	f.t.Helper()
	for {
		in, err := s.NewReceiver(f.t.Context(), name, sessionOptions(id))
		if err == nil {
			return in
		}
		wantCondition(f.t, err, "com.microsoft:session-cannot-be-locked")
		if f.t.Failed() {
			f.t.FailNow()
		}
		time.Sleep(time.Millisecond)
	}
}

// A receiver whose lock has ended is detached.
func TestLostSession(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(withSessions, queue.Attribute{Name: "VisibilityTimeout", Value: "1"}), f.session()
	in := f.receiver(s, name, sessionOptions("s1"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := in.Receive(ctx, nil)
	wantCondition(t, err, "com.microsoft:session-lock-lost")
}

// A drained node detaches its receivers with an error after which clients attach again.
func TestDrainedNode(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	in := f.receiver(s, name, nil)
	f.server.Drain()
	_, err := in.Receive(t.Context(), nil)
	wantCondition(t, err, "amqp:link:detach-forced")
	_, err = s.NewReceiver(t.Context(), name, nil)
	wantCondition(t, err, "amqp:link:detach-forced")
	f.server.Undrain(context.WithoutCancel(t.Context()))
	f.receiver(s, name, nil)
}
