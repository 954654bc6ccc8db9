package queue

import (
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// streamedSend is a command with n messages, each in its own group.
func streamedSend(n int, body string) *SendMessages {
	c := &SendMessages{Queue: "q.fifo", Batch: true, Streamed: true}
	for i := range n {
		id := strconv.Itoa(i)
		c.Entries = append(c.Entries, SendEntry{Body: body, GroupID: id, GroupIDGiven: true, DeduplicationID: id,
			DeduplicationIDGiven: true})
	}
	return c
}

// TestStreamedCommands: a command of a stream has up to 500 messages, others 10.
func TestStreamedCommands(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	if err := w.refusal(streamedSend(limits.StreamEntriesMax+1, "x")); err.Code != refusal.TooManyEntriesInBatchRequest {
		t.Errorf("%d messages: %v", limits.StreamEntriesMax+1, err)
	}
	send := streamedSend(limits.StreamEntriesMax, "x")
	sent := w.must(send).(MessagesSent).Entries
	for i, e := range sent {
		if e.Err != nil || e.Duplicate {
			t.Fatalf("message %d: %+v", i, e)
		}
	}
	send.Streamed = false
	if err := w.refusal(send); err.Code != refusal.TooManyEntriesInBatchRequest {
		t.Errorf("%d messages that are none of a stream: %v", limits.StreamEntriesMax, err)
	}
	receive := &ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(limits.StreamEntriesMax), AttemptID: "attempt", AttemptIDGiven: true}
	if err := w.refusal(receive); err.Code != refusal.InvalidParameterValue {
		t.Errorf("a receive that is none of a stream: %v", err)
	}
	receive.Streamed = true
	received := w.must(receive).(MessagesReceived).Messages
	if len(received) != limits.StreamEntriesMax {
		t.Fatalf("received %d", len(received))
	}
	if again := w.must(receive).(MessagesReceived); !again.Replayed || len(again.Messages) != len(received) {
		t.Errorf("the same attempt again: %d messages, replayed: %v", len(again.Messages), again.Replayed)
	}
	deletion := &DeleteMessages{Queue: "q.fifo", Batch: true}
	for _, m := range received {
		deletion.Handles = append(deletion.Handles, m.Handle.String())
	}
	if err := w.refusal(deletion); err.Code != refusal.TooManyEntriesInBatchRequest {
		t.Errorf("deletes that are none of a stream: %v", err)
	}
	deletion.Streamed = true
	for i, err := range w.must(deletion).(EntriesDone).Errs {
		if err != nil {
			t.Errorf("delete %d: %v", i, err)
		}
	}
	if left := w.receive("q.fifo", 10); len(left) != 0 {
		t.Errorf("%d messages left", len(left))
	}
}

// TestStreamedReceiveIsBounded: large bodies end a receive before its limit.
func TestStreamedReceiveIsBounded(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	const each = 100 << 10
	for range 3 {
		send := streamedSend(10, strings.Repeat("x", each))
		for i := range send.Entries {
			e := &send.Entries[i]
			e.DeduplicationID += "-" + strconv.Itoa(int(w.at))
			e.GroupID = e.DeduplicationID
		}
		w.must(send)
		w.pass(1)
	}
	for left := 30; left > 0; {
		got := w.must(&ReceiveMessages{Queue: "q.fifo", MaxMessages: Some(limits.StreamEntriesMax),
			Streamed: true}).(MessagesReceived).Messages
		if n := len(got); n == 0 || n > limits.BatchBytesMax/each+1 {
			t.Fatalf("received %d with %d left", n, left)
		}
		left -= len(got)
	}
}
