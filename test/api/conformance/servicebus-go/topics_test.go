package servicebus

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// letters returns a receiver of the dead letters of a subscription.
func (f *fixture) letters(topic, name string) *bus.Receiver {
	return f.subscription(topic, name, &bus.ReceiverOptions{SubQueue: bus.SubQueueDeadLetter})
}

func TestEachSubscriptionHasItsCopy(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}})
	sent := &bus.Message{
		Body: []byte{0, 255}, MessageID: new("m-1"), ContentType: new("text/plain"), CorrelationID: new("c-1"), Subject: new("s-1"),
		To: new("t-1"), ReplyTo: new("r-1"), SessionID: new("g-1"), ApplicationProperties: map[string]any{"n": int64(1), "b": []byte{0}},
	}
	f.send(topic, sent)
	for _, name := range []string{"a", "b"} {
		got := f.drainFrom(f.subscription(topic, name, nil), 1)[0]
		f.same(got.DeliveryCount, first, "delivery count")
		f.same(again(got), sent, "message")
	}
}

func TestBatchesOfATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}})
	f.sendBatch(topic, numbered(300)...)
	for _, name := range []string{"a", "b"} {
		f.same(bodies(f.drainFrom(f.subscription(topic, name, nil), 300)), texts(300), "bodies")
	}
}

func TestLargeMessagesOfATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}})
	s, body := f.sender(topic), bytes.Repeat([]byte("x"), 900_000)
	f.must(s.SendMessage(f.ctx, &bus.Message{Body: body}, nil))
	f.holds(bytes.Equal(f.one(f.subscription(topic, "a", nil)).Body, body), "the body differs")
	err := s.SendMessage(f.ctx, &bus.Message{Body: make([]byte, 1_100_000)}, nil)
	f.holds(errors.Is(err, bus.ErrMessageTooLarge), "got %v", err)
}

func TestTopicWithoutSubscriptions(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, nil)
	f.send(topic, message("lost"))
	_, err := f.admin().CreateSubscription(f.ctx, topic, "s", nil)
	f.must(err)
	f.send(topic, message("kept"))
	f.same(bodies(f.drainFrom(f.subscription(topic, "s", nil), 1)), []string{"kept"}, "bodies")
}

func TestSubscriptionsAreSettledApart(t *testing.T) {
	f := newFixture(t)
	names := []string{"a", "b", "c", "d"}
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}, "c": {}, "d": {}})
	f.send(topic, message("x"))
	var receivers []*bus.Receiver
	var got []*bus.ReceivedMessage
	for _, name := range names {
		receivers = append(receivers, f.subscription(topic, name, nil))
		got = append(got, f.one(receivers[len(receivers)-1]))
	}
	f.complete(receivers[0], got[0])
	f.must(receivers[1].AbandonMessage(f.ctx, got[1], &bus.AbandonMessageOptions{PropertiesToModify: map[string]any{"n": int64(1)}}))
	f.must(receivers[2].DeferMessage(f.ctx, got[2], nil))
	f.must(receivers[3].DeadLetterMessage(f.ctx, got[3], &bus.DeadLetterOptions{Reason: new("r")}))
	f.empty(receivers[0])
	again := f.one(receivers[1])
	f.same([]any{again.DeliveryCount, again.ApplicationProperties}, []any{first + 1, map[string]any{"n": int64(1)}}, "message of b")
	f.deferred(receivers[2], got[2])
	f.reason(f.one(f.letters(topic, "d")), "r", "")
}

func TestReceiveAndDeleteFromASubscription(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}})
	f.sendBatch(topic, numbered(5)...)
	f.same(bodies(f.take(f.subscription(topic, "a", deletes()), 5)), texts(5), "bodies")
	f.empty(f.subscription(topic, "a", nil))
	f.same(bodies(f.browse(f.subscription(topic, "b", nil), 10)), texts(5), "peeked")
}

func TestDuplicatesOfATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{RequiresDuplicateDetection: new(true)}, subscriptions{"a": {}, "b": {}})
	f.send(topic, named("1", "m"), named("2", "m"))
	f.sendBatch(topic, named("3", "n"), named("4", "n"), named("5", "m"))
	for _, name := range []string{"a", "b"} {
		f.same(bodies(f.drainFrom(f.subscription(topic, name, nil), 2)), []string{"1", "3"}, "bodies")
	}
}

func TestScheduleOnATopic(t *testing.T) {
	f := newFixture(t)
	topic, due := f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}}), later(4*time.Second)
	numbers := f.schedule(topic, due, numbered(3)...)
	s := f.sender(topic)
	f.must(s.CancelScheduledMessages(f.ctx, numbers[1:2], nil))
	f.refused(s.CancelScheduledMessages(f.ctx, numbers[1:2], nil), bus.CodeNotFound)
	property := message("property")
	property.ScheduledEnqueueTime = &due
	f.send(topic, property, message("plain"))
	for _, name := range []string{"a", "b"} {
		f.same(bodies(f.drainFrom(f.subscription(topic, name, nil), 4)), []string{"plain", "0", "2", "property"}, "bodies")
	}
	f.holds(!time.Now().Before(due), "the messages came early")
}

func TestDuplicatesAndSchedulesOfATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{RequiresDuplicateDetection: new(true)}, subscriptions{"a": {}})
	f.schedule(topic, later(3*time.Second), named("scheduled", "m"))
	f.send(topic, named("plain", "m"), named("first", "n"))
	numbers := f.schedule(topic, later(3*time.Second), named("second", "n"))
	f.refused(f.sender(topic).CancelScheduledMessages(f.ctx, numbers, nil), bus.CodeNotFound)
	f.same(bodies(f.drainFrom(f.subscription(topic, "a", nil), 2)), []string{"first", "scheduled"}, "bodies")
}

func TestSessionsOfASubscription(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"with": {RequiresSession: new(true)}, "without": {}})
	f.send(topic, slices.Concat(of("a", "1"), of("b", "2"), of("a", "3"))...)
	r, err := f.client().AcceptSessionForSubscription(f.ctx, topic, "with", "a", nil)
	f.must(err)
	f.same(bodies(f.take(r, 2)), []string{"1", "3"}, "bodies of the session")
	f.must(r.SetSessionState(f.ctx, []byte("s"), nil))
	state, err := r.GetSessionState(f.ctx, nil)
	f.must(err)
	f.same(string(state), "s", "state")
	next, err := f.client().AcceptNextSessionForSubscription(f.ctx, topic, "with", nil)
	f.must(err)
	f.same([]any{next.SessionID(), bodies(f.take(next, 1))}, []any{"b", []string{"2"}}, "next session")
	pager := f.client().NewListSessionsForSubscriptionPager(topic, "with", nil)
	page, err := pager.NextPage(f.ctx)
	f.must(err)
	f.same(page.Sessions, []string{"a", "b"}, "listed sessions")
	got := bodies(f.drainFrom(f.subscription(topic, "without", nil), 3))
	slices.Sort(got)
	f.same(got, from(1, 4), "bodies without sessions")
}

func TestSubscriptionRefusesAMessageWithoutASession(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"with": {RequiresSession: new(true)}, "without": {}})
	f.send(topic, message("x"))
	f.same(bodies(f.drainFrom(f.subscription(topic, "without", nil), 1)), []string{"x"}, "bodies")
	f.same(text(f.one(f.letters(topic, "with")).DeadLetterReason), "Session id is null.", "reason")
}

func TestTimeToLiveOfATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{DefaultMessageTimeToLive: new("PT2S")},
		subscriptions{"a": {DeadLetteringOnMessageExpiration: new(true)}, "b": {}})
	f.send(topic, message("x"))
	f.same(text(f.one(f.letters(topic, "a")).DeadLetterReason), "TTLExpiredException", "reason")
	r := f.subscription(topic, "b", nil)
	f.eventually("the message expires", func() bool { return len(f.browse(r, 1)) == 0 })
}

func TestWrongLinksOfTopics(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"a": {}})
	_, err := f.receiver(topic).ReceiveMessages(f.ctx, 1, nil)
	f.failed(err, "amqp:not-allowed", "Nothing can be received from a topic")
	err = f.sender(topic+"/Subscriptions/a").SendMessage(f.ctx, message("x"), nil)
	f.failed(err, "amqp:not-allowed", "Nothing can be sent to a subscription")
	_, err = f.subscription(topic, "none", nil).ReceiveMessages(f.ctx, 1, nil)
	f.failed(err, "amqp:not-found", "")
}
