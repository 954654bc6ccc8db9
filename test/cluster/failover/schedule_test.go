package failover

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// TestScheduledAndSentOverALeaderKill checks deduplication between a scheduled message and one that
// is sent now, in both orders, when the leader is killed in between. The second is answered as a
// duplicate with the number of the first, and one message is delivered.
func TestScheduledAndSentOverALeaderKill(t *testing.T) {
	c := cluster(t)
	native := dialNodes(t, c)
	ctx := t.Context()
	const queue = "scheduled.fifo"
	harness.Must(t, harness.Err(native.CreateQueue(ctx, queue, map[string]string{"DeduplicationWindowSeconds": "604800"}, nil)))
	group := "g"
	message := func(id string) *client.Message {
		return &client.Message{Body: id, GroupId: &group, DeduplicationId: &id}
	}
	at := time.Now().Add(30 * time.Second)
	schedule := func(id string) *client.Result {
		t.Helper()
		results, err := native.Schedule(ctx, queue, at, message(id))
		harness.Must(t, err)
		return results[0]
	}
	send := func(id string) *client.Result {
		t.Helper()
		results, err := native.Send(ctx, queue, message(id))
		harness.Must(t, err)
		return results[0]
	}

	scheduled, sent := schedule("scheduled-first"), send("sent-first")
	victim := leader(t, c)
	kill(t, victim)
	sentAgain := send("scheduled-first")
	inTime := time.Now().Before(at)
	scheduledAgain := schedule("sent-first")
	for _, pair := range [][2]*client.Result{{scheduled, sentAgain}, {sent, scheduledAgain}} {
		first, second := pair[0], pair[1]
		// Without a value the node made the call twice and does not know.
		if second.Duplicate != nil && !second.GetDuplicate() || second.GetSequenceNumber() != first.GetSequenceNumber() ||
			second.GetMessageId() != first.GetMessageId() {
			t.Errorf("the second is %v, the first %v", second, first)
		}
	}
	if inTime && sentAgain.Duplicate != nil && !sentAgain.GetFirstIsScheduled() || scheduledAgain.GetFirstIsScheduled() {
		t.Errorf("which waits is wrong: %v, %v", sentAgain, scheduledAgain)
	}
	start(t, victim)
	delivered := receiveAll(ctx, t, native, queue, 2)
	if want := []string{"sent-first", "scheduled-first"}; !slices.Equal(delivered, want) {
		t.Errorf("delivered %v, want %v", delivered, want)
	}
	agree(t, c)
}

// TestPublishScheduledOverALeaderKill is the same at a topic, with a message that is cancelled after the
// kill.
func TestPublishScheduledOverALeaderKill(t *testing.T) {
	c := cluster(t)
	native := dialNodes(t, c)
	ctx := t.Context()
	const queue, topic = "published-later.fifo", "later.fifo"
	window := map[string]string{"DeduplicationWindowSeconds": "604800"}
	harness.Must(t, harness.Err(native.CreateQueue(ctx, queue, window, nil)))
	harness.Must(t, harness.Err(native.CreateTopic(ctx, topic, window, nil)))
	harness.Must(t, harness.Err(native.Subscribe(ctx, topic, queue, map[string]string{"RawMessageDelivery": "true"})))
	group, at := "g", time.Now().Add(30*time.Second)
	publish := func(id string, due int64) *client.PublishResult {
		t.Helper()
		m := &client.TopicMessage{Message: id, GroupId: &group, DeduplicationId: &id, EnqueueAtMs: due}
		results, err := native.Publish(ctx, topic, m)
		harness.Must(t, err)
		return results[0]
	}
	scheduled, cancelled := publish("scheduled-first", at.UnixMilli()), publish("cancelled", at.Add(time.Hour).UnixMilli())
	sent := publish("sent-first", 0)
	victim := leader(t, c)
	kill(t, victim)
	sentAgain := publish("scheduled-first", 0)
	inTime := time.Now().Before(at)
	scheduledAgain := publish("sent-first", at.UnixMilli())
	for _, pair := range [][2]*client.PublishResult{{scheduled, sentAgain}, {sent, scheduledAgain}} {
		first, second := pair[0], pair[1]
		// Without a value the node made the call twice and does not know.
		if second.Duplicate != nil && !second.GetDuplicate() || second.GetSequenceNumber() != first.GetSequenceNumber() ||
			second.GetMessageId() != first.GetMessageId() {
			t.Errorf("the second is %v, the first %v", second, first)
		}
	}
	if inTime && sentAgain.Duplicate != nil && !sentAgain.GetFirstIsScheduled() || scheduledAgain.GetFirstIsScheduled() {
		t.Errorf("which waits is wrong: %v, %v", sentAgain, scheduledAgain)
	}
	// A call that was made again may find that its first attempt cancelled the message.
	if err := native.CancelScheduledPublishes(ctx, topic, false, cancelled.GetSequenceNumber()); err != nil &&
		client.Reason(err) != "OutcomeUnknown" {
		t.Error(err)
	}
	start(t, victim)
	delivered := receiveAll(ctx, t, native, queue, 2)
	if want := []string{"sent-first", "scheduled-first"}; !slices.Equal(delivered, want) {
		t.Errorf("delivered %v, want %v", delivered, want)
	}
	if list, _, err := native.ScheduledPublishes(ctx, topic, 0, 0); err != nil || len(list) != 0 {
		t.Errorf("still scheduled: %v, %v", list, err)
	}
	agree(t, c)
}

// receiveAll receives until it has this many messages, and then once more.
func receiveAll(ctx context.Context, t *testing.T, native *client.Client, queue string, want int) (bodies []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, giveUpAfter+time.Minute)
	defer cancel()
	for last := false; !last; {
		last = len(bodies) >= want
		wait := int32(20)
		if last {
			wait = 0
		}
		messages, err := native.ReceiveAndDelete(ctx, queue, 10, wait)
		if err != nil {
			t.Fatalf("after %v: %v", bodies, err)
		}
		for _, m := range messages {
			bodies = append(bodies, m.GetBody())
		}
	}
	return bodies
}
