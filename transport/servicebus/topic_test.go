package servicebus

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// createTopic makes a topic for the test.
func (f *fixture) createTopic(more ...queue.Attribute) (path string) {
	f.t.Helper()
	path = fmt.Sprintf("eu/t%d", queueNumber.Add(1))
	name := entity.QueueName(path)
	attributes := append([]queue.Attribute{
		{Name: "CompatibilityProfile", Value: "servicebus"}, {Name: "FifoTopic", Value: "true"}, plain,
	}, more...)
	_, err := node.Submit(f.t.Context(), &queue.CreateTopic{Topic: name, TopicARN: f.server.Names.TopicARN(name), Attributes: attributes})
	clustertest.Must(f.t, err)
	return path
}

// subscribe makes a subscription, without sessions unless its attributes say otherwise.
func (f *fixture) subscribe(topic, name string, more ...queue.Attribute) (path string) {
	f.t.Helper()
	path = entity.Subscription(topic, name)
	f.createQueue(entity.QueueName(path), append([]queue.Attribute{{Name: "DeduplicationEnabled", Value: "false"}}, more...)...)
	_, err := node.Submit(f.t.Context(), &queue.Subscribe{
		Topic: entity.QueueName(topic), Endpoint: f.server.Names.QueueARN(entity.QueueName(path)), Owner: f.server.Names.Account,
		Attributes: []queue.Attribute{
			{Name: "RawMessageDelivery", Value: "true"},
			{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + f.server.Names.QueueARN(entity.DeadLetterName(path)) + `"}`},
		},
	})
	clustertest.Must(f.t, err)
	return path
}

var detectionOff = queue.Attribute{Name: "DeduplicationEnabled", Value: "false"}

// Each subscription gets a copy of a message with all its sections, and completes it on its own.
func TestTopic(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	one, two := f.subscribe(topic, "one", plain), f.subscribe(topic, "two.v2", plain)
	s := f.session()
	out := f.sender(s, topic)
	session := "s1"
	sent := &client.Message{
		Properties: &client.MessageProperties{
			MessageID: "id 1", GroupID: &session, Subject: new("subject"), CorrelationID: uint64(7),
		},
		ApplicationProperties: map[string]any{"n": int16(5), "at": time.UnixMilli(1000).UTC(), "b": []byte{0}},
		Annotations:           client.Annotations{"x-opt-partition-key": "s1", "x-own": int32(3)},
		Footer:                client.Annotations{"x-foot": "f"},
		Value:                 []any{int64(1), "two"},
	}
	clustertest.Must(t, out.Send(t.Context(), sent, nil))
	clustertest.Must(t, out.Send(t.Context(), sent, nil)) // a duplicate
	clustertest.Must(t, out.Send(t.Context(), newMessage("2", "second"), nil))
	for _, path := range []string{one, "EU/" + topic[3:] + "/subscriptions/TWO.V2"} {
		in := f.receiver(s, path, nil)
		got := f.receive(in)
		if got.Properties.MessageID != "id 1" || *got.Properties.GroupID != session || *got.Properties.Subject != "subject" ||
			got.Properties.CorrelationID != uint64(7) || got.ApplicationProperties["n"] != int16(5) ||
			got.Annotations["x-own"] != int32(3) || got.Annotations[annotationPartition] != "s1" || got.Footer["x-foot"] != "f" ||
			fmt.Sprint(got.Value) != "[1 two]" || got.Annotations[annotationSequence] != int64(1) || got.Header.DeliveryCount != 0 {
			t.Errorf("%s: %+v %+v", path, got, got.Properties)
		}
		clustertest.Must(t, in.AcceptMessage(t.Context(), got))
		if second := f.receive(in); string(second.GetData()) != "second" {
			t.Errorf("%s: %+v", path, second)
		} else {
			clustertest.Must(t, in.RejectMessage(t.Context(), second, &client.Error{
				Condition: "com.microsoft:dead-letter", Info: map[string]any{infoReason: "why"}}))
		}
		clustertest.Must(t, in.Close(t.Context()))
	}
	dead := f.receive(f.receiver(s, two+"/$DeadLetterQueue", nil))
	if dead.ApplicationProperties[infoReason] != "why" || dead.Annotations[annotationDeadLetterFrom] != two {
		t.Errorf("dead letter %+v", dead)
	}
}

// A batch is published as a whole or not at all, also with more messages than SNS allows.
func TestTopicBatch(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	s := f.session()
	in := f.receiver(s, f.subscribe(topic, "s", plain), &client.ReceiverOptions{Credit: 300})
	batch := func(ids ...string) *client.Message {
		envelope := &client.Message{Format: formatBatch}
		for _, id := range ids {
			encoded, err := newMessage(id, "body of "+id).MarshalBinary()
			clustertest.Must(t, err)
			envelope.Data = append(envelope.Data, encoded)
		}
		return envelope
	}
	var ids []string
	for i := range 200 {
		ids = append(ids, fmt.Sprint("m", i))
	}
	out := f.sender(s, topic)
	wantCondition(t, out.Send(t.Context(), batch("good", ""), nil), notAllowed) // detection needs an id
	clustertest.Must(t, out.Send(t.Context(), batch(ids...), nil))
	for i := range ids {
		if got := f.receive(in); got.Properties.MessageID != ids[i] || got.Annotations[annotationSequence] != int64(i+1) {
			t.Fatalf("message %d is %v", i, got.Properties.MessageID)
		}
	}
	large := make([]byte, 900<<10)
	clustertest.Must(t, out.Send(t.Context(), newMessage("large", string(large)), nil))
	if got := f.receive(in); len(got.GetData()) != len(large) {
		t.Errorf("%d bytes", len(got.GetData()))
	}
}

// A subscription has sessions of its own. It gets a message without a session as a dead letter.
func TestSessionsOfSubscription(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic(detectionOff)
	path := f.subscribe(topic, "s", withSessions)
	s := f.session()
	out := f.sender(s, topic)
	clustertest.Must(t, out.Send(t.Context(), inSession("a", "one", "s1"), nil))
	clustertest.Must(t, out.Send(t.Context(), newMessage("b", "lost"), nil))
	in := f.receiver(s, path, sessionOptions("s1"))
	got := f.receive(in)
	if string(got.GetData()) != "one" {
		t.Errorf("received %+v", got)
	}
	m := f.manage(s, path+"/$management")
	m.want(200, "set-session-state", map[string]any{"session-id": "s1", "session-state": []byte("abc")})
	clustertest.Must(t, in.AcceptMessage(t.Context(), got))
	if dead := f.receive(f.receiver(s, path+"/$deadletterqueue", nil)); string(dead.GetData()) != "lost" {
		t.Errorf("dead letter %+v", dead)
	}
}

// A topic schedules messages, and cancels them by number. It detects duplicates of them.
func TestTopicSchedule(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	s := f.session()
	in := f.receiver(s, f.subscribe(topic, "s", plain), nil)
	m := f.manage(s, topic+"/$management")
	schedule := func(id string, at time.Time) []int64 {
		one := newMessage(id, "body of "+id)
		one.Annotations = client.Annotations{annotationScheduled: at}
		encoded, err := one.MarshalBinary()
		clustertest.Must(t, err)
		entries := map[string]any{"messages": []any{map[string]any{"message": encoded, "message-id": id}}}
		numbers, _ := m.want(200, "schedule-message", entries)["sequence-numbers"].([]int64)
		return numbers
	}
	later := time.Now().Add(time.Hour)
	a, again, b := schedule("a", later), schedule("a", later), schedule("b", later)
	if len(a) != 1 || len(again) != 1 || len(b) != 1 || a[0] != again[0] || a[0] == b[0] {
		t.Fatalf("numbers %v, %v and %v", a, again, b)
	}
	m.want(200, "cancel-scheduled-message", map[string]any{"sequence-numbers": a})
	m.want(404, "cancel-scheduled-message", map[string]any{"sequence-numbers": a})
	schedule("c", time.Now().Add(300*time.Millisecond))
	if got := f.receive(in); string(got.GetData()) != "body of c" {
		t.Errorf("received %+v", got)
	}
	m.want(400, "peek-message", map[string]any{"from-sequence-number": int64(1), "message-count": int32(5)})
	m.want(501, "unheard-of", nil)
}

// The links that an entity of a topic does not have are refused.
func TestLinksOfTopics(t *testing.T) {
	f := newFixture(t, nil)
	topic := f.createTopic()
	path := f.subscribe(topic, "s", plain)
	s := f.session()
	receive := func(address string) error {
		_, err := s.NewReceiver(t.Context(), address, nil)
		return err
	}
	send := func(address string) error {
		_, err := s.NewSender(t.Context(), address, nil)
		return err
	}
	wantCondition(t, receive(topic), notAllowed)
	wantCondition(t, send(path), notAllowed)
	wantMissing(t, receive(topic+"/Subscriptions/none"))
	wantMissing(t, receive(topic+"/$deadletterqueue"))
	wantMissing(t, receive("none/Subscriptions/s"))
	out := f.sender(s, topic)
	_, err := node.Submit(t.Context(), &queue.DeleteTopic{Topic: entity.QueueName(topic)})
	clustertest.Must(t, err)
	wantMissing(t, out.Send(t.Context(), newMessage("1", "late"), nil))
}

// wantMissing checks that an error tells all SDKs that an entity does not exist: the SDK for JavaScript
// reads the description.
func wantMissing(t *testing.T, err error) {
	t.Helper()
	wantCondition(t, err, notFound)
	if !regexp.MustCompile("The messaging entity .* could not be found").MatchString(err.Error()) {
		t.Errorf("the error does not name the entity: %v", err)
	}
}
