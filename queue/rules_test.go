package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// lookAt receives without hiding messages.
func (w *world) lookAt(queue string, limit int64) []ReceivedMessage {
	w.t.Helper()
	return w.must(&ReceiveMessages{Queue: queue, MaxMessages: Some(limit), VisibilityTimeout: Some(0)}).(MessagesReceived).Messages
}

func TestDeadLetterQueueWithAPolicyDelivers(t *testing.T) {
	w := newWorld(t)
	w.create("last.fifo")
	w.create("dlq.fifo", redrive("last.fifo", "2"))
	w.create("q.fifo", redrive("dlq.fifo", "3"))
	w.send("q.fifo", "g", "1", "m")
	for range 4 {
		w.lookAt("q.fifo", 1) // three times, then it moves
	}
	for n := range int64(2) {
		got := w.lookAt("dlq.fifo", 1)
		if len(got) != 1 {
			t.Fatalf("receive %d from the dead-letter queue got %d messages", n+1, len(got))
		} else if got[0].ReceiveCount != 4+n {
			t.Fatalf("its receive count is %d, which goes on counting from 3", got[0].ReceiveCount)
		}
	}
	if got := w.lookAt("dlq.fifo", 1); len(got) != 0 {
		t.Fatalf("received %q again: two hand-outs are enough there", bodies(got))
	}
	if got := w.lookAt("last.fifo", 1); bodies(got) != "m " {
		t.Fatalf("the last queue has %q", bodies(got))
	}
}

// Two queues that are each other's dead-letter queue move a message only after a delivery, so that
// two waiting receives end.
func TestMutualDeadLetterQueues(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.create("b", redrive("a", "1"))
	w.must(&SetQueueAttributes{Queue: "a", Attributes: []Attribute{redrive("b", "1")}})
	w.send("a", "", "", "m")
	w.lookAt("a", 1)
	received, rounds := 0, 0
	for ; rounds < 100 && (w.b.View().Deliverable("a") || w.b.View().Deliverable("b")); rounds++ {
		received += len(w.receive([]string{"a", "b"}[rounds%2], 1))
	}
	if received != 1 || rounds != 2 {
		t.Fatalf("%d receives delivered %d times", rounds, received)
	}
}

func TestMoveTaskGoesOnBesideInFlight(t *testing.T) {
	w := newWorld(t)
	w.create("dlq")
	w.create("q", redrive("dlq", "1"))
	for n := 0; n <= limits.InFlightMax; n += limits.BatchEntriesMax {
		c := &SendMessages{Queue: "dlq", Batch: true, Entries: make([]SendEntry, limits.BatchEntriesMax)}
		for i := range c.Entries {
			c.Entries[i].Body = "x"
		}
		w.b.Apply(w.at, c)
		if n < limits.InFlightMax {
			w.b.Apply(w.at, &ReceiveMessages{Queue: "dlq", MaxMessages: Some(limits.BatchEntriesMax)})
		}
	}
	id := w.must(&StartMoveTask{Source: "dlq", Destination: "q"}).(MoveTaskStarted).TaskID
	if got := w.must(&MoveMessages{TaskID: id, Max: 4}); got != (MessagesMoved{Moved: 4, Running: true}) {
		t.Fatalf("the first step %+v", got)
	}
	if got := w.must(&MoveMessages{TaskID: id, Max: 100}); got != (MessagesMoved{Moved: 6}) {
		t.Fatalf("the second step %+v", got)
	}
}

func TestBothIDsCountAgainstTheCap(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "ContentBasedDeduplication", Value: "true"},
		Attribute{Name: "ContentDeduplicationMode", Value: "IdAndContent"}, Attribute{Name: "MaxDeduplicationEntries", Value: "3"})
	send := func(id, body string) *Error {
		_, err := w.apply(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: body, GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: id != "",
		}}})
		return err
	}
	if err := send("1", "one"); err != nil {
		t.Fatal(err)
	}
	if err := send("2", "two"); err == nil {
		t.Fatal("a second message with two ids under a cap of three")
	}
	if err := send("", "three"); err != nil {
		t.Fatalf("a message with one id: %v", err)
	}
}

func TestStandardQueueServesTheOldestFirst(t *testing.T) {
	w := newWorld(t)
	w.create("q")
	for i := range 4 {
		w.send("q", "", "", fmt.Sprint("m", i))
		w.pass(1)
	}
	got := w.receive("q", 1)
	w.must(&ChangeMessageVisibility{Queue: "q", Entries: []VisibilityEntry{{got[0].Handle.String(), Some(0)}}})
	if got := bodies(w.receive("q", 2)); got != "m0 m1 " {
		t.Fatalf("received %q", got)
	}
	w.pass(30 * logtime.Second)
	if got := bodies(w.receive("q", 10)); got != "m0 m1 m2 m3 " {
		t.Fatalf("after the timeouts received %q", got)
	}
}

// A message that a task moves back keeps its deduplication ids and partition key.
func TestMovedMessageKeepsItsKeys(t *testing.T) {
	w := newWorld(t)
	keys := []Attribute{
		{Name: "MessageGroupIdMode", Value: "Optional"},
		{Name: "DeduplicationScope", Value: "partitionKey"},
		{Name: "ReservedAttributesEnabled", Value: "true"},
		{Name: "DeadLetterKeepsDeduplicationId", Value: "true"},
		{Name: "ContentBasedDeduplication", Value: "true"},
		{Name: "ContentDeduplicationMode", Value: "IdAndContent"},
	}
	w.create("dlq.fifo", keys...)
	w.create("q.fifo", append(keys, redrive("dlq.fifo", "1"))...)
	send := func(id, partition, body string) SentEntry {
		return w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
			Body: body, DeduplicationID: id, DeduplicationIDGiven: true,
			Attributes: []MessageAttribute{{Name: "seriatim.PartitionKey", DataType: "String", Value: partition}},
		}}}).(MessagesSent).Entries[0]
	}
	send("1", "p", "content")
	w.lookAt("q.fifo", 1)
	w.lookAt("q.fifo", 1)
	w.pass(300 * logtime.Second) // the record of the send has expired
	id := w.must(&StartMoveTask{Source: "dlq.fifo"}).(MoveTaskStarted).TaskID
	if got := w.must(&MoveMessages{TaskID: id, Max: 10}); got != (MessagesMoved{Moved: 1}) {
		t.Fatalf("moved %+v", got)
	}
	if got := send("1", "p", "other"); !got.Duplicate {
		t.Fatalf("a late retry by id: %+v", got)
	}
	if got := send("2", "p", "content"); !got.Duplicate {
		t.Fatalf("a late retry by content: %+v", got)
	}
	if got := send("1", "another", "different"); got.Duplicate {
		t.Fatalf("another partition: %+v", got)
	}
}

// deferred sends a message and defers it.
func (w *world) deferred(queue, group, body string) SequenceNumber {
	w.t.Helper()
	w.send(queue, group, body, body)
	m := w.receive(queue, 1)[0]
	w.must(&Defer{Queue: queue, Handles: []string{m.Handle.String()}})
	return m.Sequence
}

func TestDeferredOutlivesRetention(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "MessageRetentionPeriod", Value: "60"})
	number := w.deferred("q.fifo", "g", "a")
	w.send("q.fifo", "g", "b", "b")
	w.pass(121 * logtime.Second)
	w.must(&AdvanceClock{})
	if s, _ := w.b.View().Stats("q.fifo"); s.Deferred != 1 || s.Visible != 0 {
		t.Fatalf("stats %+v", s)
	}
	ask := &ReceiveDeferred{Queue: "q.fifo", Sequences: []SequenceNumber{number}}
	handles := map[string]bool{}
	for range 3 { // received, abandoned and received again: it stays deferred
		got := w.must(ask).(MessagesReceived).Messages
		if bodies(got) != "a " {
			t.Fatalf("received %q", bodies(got))
		}
		handle := got[0].Handle.String()
		handles[handle] = true
		w.must(&ChangeMessageVisibility{Queue: "q.fifo", Entries: []VisibilityEntry{{handle, Some(0)}}})
		w.pass(60 * logtime.Second)
	}
	if got := w.receive("q.fifo", 10); len(got) != 0 || len(handles) != 3 {
		t.Fatalf("an ordinary receive found %q; %d handles", bodies(got), len(handles))
	}
	got := w.must(ask).(MessagesReceived).Messages
	w.must(&DeleteMessages{Queue: "q.fifo", Handles: []string{got[0].Handle.String()}})
	if _, err := w.apply(ask); err == nil {
		t.Fatal("a deleted message was received")
	}
}

func TestScheduledMessageIsNotDelayed(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "DelaySeconds", Value: "2"})
	w.must(&SendMessages{Queue: "q.fifo", Entries: []SendEntry{{
		Body: "scheduled", GroupID: "a", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true,
		Options: &SendOptions{EnqueueAt: w.at.Add(logtime.Second)},
	}}})
	w.pass(logtime.Second - 1)
	if got := w.lookAt("q.fifo", 10); len(got) != 0 {
		t.Fatalf("received %q before its time", bodies(got))
	}
	w.pass(1)
	w.send("q.fifo", "a", "2", "behind")
	w.send("q.fifo", "b", "3", "sent")
	want := "scheduled "
	counts := func(visible, delayed int64) {
		t.Helper()
		if s, _ := w.b.View().Stats("q.fifo"); s.Visible != visible || s.Delayed != delayed || s.NotVisible != 0 {
			t.Fatalf("stats %+v", s)
		}
	}
	counts(1, 2)
	if got := bodies(w.lookAt("q.fifo", 10)); got != want {
		t.Fatalf("at its time received %q, want %q", got, want)
	}
	w.pass(2*logtime.Second - 1)
	if got := bodies(w.lookAt("q.fifo", 10)); got != want {
		t.Fatalf("before the delay is over received %q, want %q", got, want)
	}
	w.pass(1)
	if got := w.lookAt("q.fifo", 10); len(got) != 3 {
		t.Fatalf("after the delay received %q", bodies(got))
	}
	counts(3, 0)
}

func TestDeadLetterReasonOfTheReceiveCount(t *testing.T) {
	for _, extension := range []Attribute{
		{Name: "VisibilityTimeout", Value: "30"}, {Name: "CompatibilityProfile", Value: "ymq"},
		{Name: "CompatibilityProfile", Value: "servicebus"}, {Name: "ReservedAttributesEnabled", Value: "true"},
		{Name: "ImplicitDeadLetterQueue", Value: "true"},
	} {
		w := newWorld(t)
		w.create("q-dlq.fifo")
		w.create("q.fifo", extension, redrive("q-dlq.fifo", "1"))
		w.send("q.fifo", "g", "1", "m")
		w.lookAt("q.fifo", 1)
		w.lookAt("q.fifo", 1)
		got := w.receive("q-dlq.fifo", 1)
		var want []MessageAttribute
		if extension.Name != "VisibilityTimeout" && extension.Value != "ymq" {
			want = []MessageAttribute{{Name: "DeadLetterErrorDescription", DataType: "String",
				Value: "Message could not be consumed after 1 delivery attempts."},
				{Name: "DeadLetterReason", DataType: "String", Value: "MaxDeliveryCountExceeded"}}
		}
		if len(got) != 1 || !slices.Equal(got[0].Attributes, want) {
			t.Fatalf("%s=%s: dead-lettered %+v, want the attributes %v", extension.Name, extension.Value, got, want)
		}
	}
}
