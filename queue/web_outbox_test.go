package queue

import (
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// fillOutbox publishes n messages to t in batches, without the checks of each command that
// cost more with each message.
func (w *world) fillOutbox(n int, message string) {
	w.t.Helper()
	batch := make([]PublishEntry, limits.BatchEntriesMax)
	for i := range batch {
		batch[i].Message = message
	}
	for n > 0 {
		entries := batch[:min(n, len(batch))]
		n -= len(entries)
		if _, err := w.b.apply(&Publish{Topic: "t", Batch: true, SenderID: "s", Entries: entries}); err != nil {
			w.t.Fatal(err)
		}
		w.b.finish()
	}
	w.b.events = nil
}

const outboxFull = " messages that its endpoint has not taken yet, and no dead-letter queue. Nothing was published: retry later, set a RedrivePolicy, or remove the subscription."

// A full outbox refuses a publish and loses nothing; deleting a subscription with much in
// it takes no longer than another one, and its memory comes back.
func TestOutboxIsBounded(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, arn := w.confirmed("t", webEndpoint)
	empty := w.b.View().StateBytes()
	w.fillOutbox(limits.OutboxMax, "m")
	w.refused(&Publish{Topic: "t", Entries: []PublishEntry{{Message: "m"}}}, refusal.Throttled, "The subscription "+arn+" has 100000"+outboxFull)
	w.report(number, DeliveryDone)
	w.refused(&Publish{Topic: "t", Batch: true, Entries: []PublishEntry{{Message: "m"}, {Message: "m"}}}, refusal.Throttled, "The subscription "+arn+" has 99999"+outboxFull)
	w.publish("t", PublishEntry{Message: "m"})
	if n := w.b.View().WaitingDeliveries(); n != limits.OutboxMax {
		t.Errorf("%d deliveries wait", n)
	}
	w.must(&DeleteTopic{Topic: "t"})
	if n := w.b.View().WaitingDeliveries(); n != 0 {
		t.Errorf("%d deliveries wait for a topic that is gone", n)
	}
	for range 60 {
		w.must(&AdvanceClock{})
	}
	if left := w.b.View().StateBytes(); left > empty {
		t.Errorf("%d bytes, before the publishes %d", left, empty)
	}
}

// Long messages are bounded by what they take, not by how many they are.
func TestOutboxIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, arn := w.confirmed("t", webEndpoint)
	body := strings.Repeat("x", limits.PublishBytesMax/limits.BatchEntriesMax)
	const most = limits.OutboxBytesMax / (limits.PublishBytesMax / limits.BatchEntriesMax)
	published := 0
	for ; ; published += limits.BatchEntriesMax {
		if _, err := w.b.apply(&Publish{Topic: "t", Batch: true, SenderID: "s", Entries: slicesOf(body)}); err != nil {
			break
		}
		w.b.finish()
		if published > most {
			t.Fatalf("%d messages of %d bytes wait", published, len(body))
		}
	}
	w.b.events = nil
	if published < most*9/10 {
		t.Errorf("%d messages of %d bytes were too many", published, len(body))
	}
	if size := w.b.View().StateBytes(); size > limits.OutboxBytesMax*11/10 {
		t.Errorf("the state has %d bytes", size)
	}
	w.refused(&Publish{Topic: "t", Entries: []PublishEntry{{Message: "m"}}}, refusal.Throttled, "The subscription "+arn+" has "+strconv.Itoa(published)+outboxFull)
	done := &ReportDeliveries{}
	for _, d := range w.deliveries(number)[:limits.BatchEntriesMax] {
		done.Reports = append(done.Reports, DeliveryReport{Subscription: number, Number: d.Number, Outcome: DeliveryDone})
	}
	w.must(done)
	w.publish("t", PublishEntry{Message: "m"})
}

func slicesOf(message string) (entries []PublishEntry) {
	for range limits.BatchEntriesMax {
		entries = append(entries, PublishEntry{Message: message})
	}
	return entries
}

// With a dead-letter queue a full outbox keeps nobody from publishing: what it has no room
// for goes there, and the other subscribers get it as ever.
func TestFullOutboxDeadLetters(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	w.must(&CreateQueue{Queue: "q"})
	w.subscribe("t", "q")
	number, arn := w.confirmed("t", webEndpoint, Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead") + `"}`},
		Attribute{Name: "RawMessageDelivery", Value: "true"})
	w.fillOutbox(limits.OutboxMax-1, "m")
	two := &Publish{Topic: "t", Batch: true, Entries: []PublishEntry{{Message: "last"}, {Message: "over"}}}
	w.refused(two, refusal.Throttled, "The subscription "+arn+" has 99999"+outboxFull) // there is no such queue
	w.must(&CreateQueue{Queue: "dead"})
	w.must(two)
	if n := len(w.deliveries(number)); n != limits.OutboxMax {
		t.Errorf("%d deliveries wait", n)
	}
	if got := w.receive("dead", 10); len(got) != 1 || got[0].Body.String() != "over" {
		t.Errorf("the dead-letter queue has %+v", got)
	}
	if got := w.eventsOf(TopicDeliveriesDeadLettered); len(got) != 1 || got[0].Queue != "https://example.org" {
		t.Errorf("dead-lettered: %+v", got)
	}
}
