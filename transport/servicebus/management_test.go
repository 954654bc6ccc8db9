package servicebus

import (
	"slices"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// requester makes requests to a node.
type requester struct {
	f       *fixture
	out     *client.Sender
	in      *client.Receiver
	replyTo string
	next    uint64
}

func (f *fixture) manage(s *client.Session, node string) *requester {
	f.t.Helper()
	m := &requester{f: f, replyTo: "reply-" + node}
	in, err := s.NewReceiver(f.t.Context(), node, &client.ReceiverOptions{TargetAddress: m.replyTo, Credit: 10})
	clustertest.Must(f.t, err)
	m.in, m.out = in, f.sender(s, node)
	return m
}

// call makes a request, and returns the status and the body of the response.
func (m *requester) call(operation string, body any, more map[string]any) (status int32, answer map[string]any, condition any) {
	m.f.t.Helper()
	m.next++
	properties := map[string]any{"operation": operation}
	for name, value := range more {
		properties[name] = value
	}
	clustertest.Must(m.f.t, m.out.Send(m.f.t.Context(), &client.Message{
		Properties: &client.MessageProperties{MessageID: m.next, ReplyTo: &m.replyTo}, ApplicationProperties: properties, Value: body,
	}, nil))
	r := m.f.receive(m.in)
	if r.Properties.CorrelationID != m.next {
		m.f.t.Errorf("the response is for %v", r.Properties.CorrelationID)
	}
	status, _ = r.ApplicationProperties["statusCode"].(int32)
	answer, _ = r.Value.(map[string]any)
	return status, answer, r.ApplicationProperties["errorCondition"]
}

func (m *requester) want(status int32, operation string, body any) map[string]any {
	m.f.t.Helper()
	got, answer, condition := m.call("com.microsoft:"+operation, body, nil)
	if got != status {
		m.f.t.Errorf("%s: status %d, %v", operation, got, condition)
	}
	return answer
}

// encodedMessages has the messages in the answer of a peek or a receive.
func encodedMessages(t *testing.T, answer map[string]any) (all []*client.Message) {
	t.Helper()
	list, _ := answer["messages"].([]any)
	for _, item := range list {
		encoded, _ := item.(map[string]any)["message"].([]byte)
		m := new(client.Message)
		clustertest.Must(t, m.UnmarshalBinary(encoded))
		all = append(all, m)
	}
	return all
}

// A scheduled message has a number, which cancels it.
func TestSchedule(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	m := f.manage(s, name+"/$management")
	later := newMessage("a", "later")
	later.Annotations = client.Annotations{annotationScheduled: time.Now().Add(time.Hour)}
	encoded, err := later.MarshalBinary()
	clustertest.Must(t, err)
	entries := map[string]any{"messages": []any{map[string]any{"message": encoded, "message-id": "a"}}}
	numbers, _ := m.want(200, "schedule-message", entries)["sequence-numbers"].([]int64)
	if len(numbers) != 1 {
		t.Fatalf("numbers %v", numbers)
	}
	peeked := encodedMessages(t, m.want(200, "peek-message", map[string]any{"from-sequence-number": int64(1), "message-count": int32(5)}))
	if len(peeked) != 1 || peeked[0].Annotations[annotationState] != int32(stateScheduled) || string(peeked[0].GetData()) != "later" {
		t.Errorf("peeked %v", peeked)
	}
	m.want(200, "cancel-scheduled-message", map[string]any{"sequence-numbers": numbers})
	m.want(404, "cancel-scheduled-message", map[string]any{"sequence-numbers": numbers})
	m.want(204, "peek-message", map[string]any{"from-sequence-number": int64(1), "message-count": int32(5)})
	m.want(501, "unheard-of", map[string]any{})
	m.want(400, "schedule-message", map[string]any{})
}

// Deferred messages are received by their numbers, and renewed and dead-lettered by their lock tokens.
func TestDeferredMessages(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(plain), f.session()
	clustertest.Must(t, f.sender(s, name).Send(t.Context(), newMessage("a", "one"), nil))
	in := f.receiver(s, name, nil)
	got := f.receive(in)
	clustertest.Must(t, in.ModifyMessage(t.Context(), got, &client.ModifyMessageOptions{UndeliverableHere: true}))
	number := got.Annotations[annotationSequence].(int64)
	m := f.manage(s, name+"/$management")
	body := map[string]any{"sequence-numbers": []int64{number}, "receiver-settle-mode": uint32(1)}
	answer := m.want(200, "receive-by-sequence-number", body)
	deferred := encodedMessages(t, answer)
	if len(deferred) != 1 || string(deferred[0].GetData()) != "one" || deferred[0].Header.DeliveryCount != 1 {
		t.Fatalf("deferred %v", deferred)
	}
	token, _ := answer["messages"].([]any)[0].(map[string]any)["lock-token"].(client.UUID)
	if deferred[0].DeliveryAnnotations[annotationLockToken] != token {
		t.Errorf("two tokens: %v and %v", deferred[0].DeliveryAnnotations, token)
	}
	ends, _ := m.want(200, "renew-lock", map[string]any{"lock-tokens": []client.UUID{token}})["expirations"].([]time.Time)
	if len(ends) != 1 || !ends[0].After(time.Now()) {
		t.Errorf("the lock ends %v", ends)
	}
	suspend := map[string]any{"disposition-status": "suspended", "lock-tokens": []client.UUID{token}, "deadletter-reason": "why"}
	m.want(200, "update-disposition", suspend)
	m.want(410, "update-disposition", suspend)
	m.want(404, "receive-by-sequence-number", body)
	if dead := f.receive(f.receiver(s, name+"/$DeadLetterQueue", nil)); dead.ApplicationProperties[infoReason] != "why" {
		t.Errorf("dead letter %v", dead.ApplicationProperties)
	}
}

// A receiver cannot use the lock of another receiver of the same connection.
func TestManagedSessionOfAnotherReceiver(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(withSessions), f.session()
	holds, other := f.receiver(s, name, sessionOptions("s1")), f.receiver(s, name, sessionOptions("s2"))
	m := f.manage(s, name+"/$management")
	named := map[string]any{"session-id": "s1"}
	for _, operation := range []string{"get-session-state", "set-session-state", "renew-session-lock"} {
		for link, want := range map[string]int32{other.LinkName(): 410, holds.LinkName(): 200} {
			status, _, condition := m.call("com.microsoft:"+operation, named, map[string]any{"associated-link-name": link})
			if status != want || want == 410 && condition != any(sessionLockLost) {
				t.Errorf("%s: status %d, %v, want %d", operation, status, condition, want)
			}
		}
	}
}

// The SDK for Go names no session for deferred messages, only the receiver that it calls for. It clears the
// state of a session with an empty one.
func TestManagedSessionOfALink(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(withSessions), f.session()
	clustertest.Must(t, f.sender(s, name).Send(t.Context(), inSession("a", "one", "s1"), nil))
	holds, other := f.receiver(s, name, sessionOptions("s1")), f.receiver(s, name, sessionOptions("s2"))
	got := f.receive(holds)
	clustertest.Must(t, holds.ModifyMessage(t.Context(), got, &client.ModifyMessageOptions{UndeliverableHere: true}))
	m := f.manage(s, name+"/$management")
	body := map[string]any{"sequence-numbers": []int64{got.Annotations[annotationSequence].(int64)}, "receiver-settle-mode": uint32(1)}
	for _, one := range []struct {
		link string
		want int32
	}{{other.LinkName(), 404}, {holds.LinkName(), 200}} {
		status, _, condition := m.call("com.microsoft:receive-by-sequence-number", body, map[string]any{"associated-link-name": one.link})
		if status != one.want {
			t.Errorf("status %d, %v, want %d", status, condition, one.want)
		}
	}
	for _, state := range [][]byte{[]byte("s"), {}} {
		m.want(200, "set-session-state", map[string]any{"session-id": "s1", "session-state": state})
	}
	if state := m.want(200, "get-session-state", map[string]any{"session-id": "s1"})["session-state"]; state != nil {
		t.Errorf("the state is %v", state)
	}
}

// The holder of a session renews its lock and has its state.
func TestManagedSessions(t *testing.T) {
	f := newFixture(t, nil)
	name, s := f.create(withSessions), f.session()
	clustertest.Must(t, f.sender(s, name).Send(t.Context(), inSession("a", "one", "s1"), nil))
	m := f.manage(s, name+"/$management")
	named := map[string]any{"session-id": "s1"}
	m.want(410, "renew-session-lock", named)
	f.receiver(s, name, sessionOptions("s1"))
	if until, ok := m.want(200, "renew-session-lock", named)["expiration"].(time.Time); !ok || !until.After(time.Now()) {
		t.Errorf("the lock ends %v", until)
	}
	if state := m.want(200, "get-session-state", named)["session-state"]; state != nil {
		t.Errorf("a new session has the state %v", state)
	}
	m.want(200, "set-session-state", map[string]any{"session-id": "s1", "session-state": []byte("abc")})
	if state, _ := m.want(200, "get-session-state", named)["session-state"].([]byte); string(state) != "abc" {
		t.Errorf("the state is %q", state)
	}
	clustertest.Must(t, f.sender(s, name).Send(t.Context(), inSession("b", "two", "s3"), nil))
	f.receiver(s, name, sessionOptions("s2"))
	m.want(200, "set-session-state", map[string]any{"session-id": "s2", "session-state": []byte("of no message")})
	for since, want := range map[time.Time][]string{time.UnixMilli(253402300800000): {"s1", "s2", "s3"}, time.Unix(0, 0): {"s1", "s2"}} {
		var ids []string
		for range want {
			page := map[string]any{"last-updated-time": since, "skip": int32(len(ids)), "top": int32(1)} //nolint:gosec // small
			part, _ := m.want(200, "get-message-sessions", page)["sessions-ids"].([]string)
			ids = append(ids, part...)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("sessions since %v: %v, want %v", since, ids, want)
		}
	}
	m.want(204, "get-message-sessions", map[string]any{"last-updated-time": time.Now().Add(time.Hour), "skip": int32(0), "top": int32(10)})
}
