package queue

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// TestSessionWaitsForDelay: whoever waits in a session is told when the delay of a message
// ends, by the clock or because the queue has another delay.
func TestSessionWaitsForDelay(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "DelaySeconds", Value: "5"})
	told := func() (found bool) {
		for _, e := range w.b.TakeEvents(nil) {
			found = found || e.Kind == SessionAvailable && e.Queue == "q.fifo"
		}
		return found
	}
	s := w.accept("q.fifo", "g", 100)
	for i, id := range []string{"1", "2"} {
		w.send("q.fifo", "g", id, "m")
		if got := w.receiveIn("q.fifo", s, 1); len(got) != 0 {
			t.Fatalf("message %d was received before its delay was over", i)
		}
		told()
		if at := w.b.NextDeadline(); at != w.at.Add(5*logtime.Second) {
			t.Fatalf("message %d: the clock has work at %d, the delay ends at %d", i, at, w.at.Add(5*logtime.Second))
		}
		w.pass(5 * logtime.Second)
		w.must(&AdvanceClock{})
		if !told() {
			t.Errorf("message %d: nobody was told", i)
		}
		if at := w.b.NextDeadline(); at == w.at {
			t.Errorf("message %d: the clock has work without end", i)
		}
		if got := w.receiveIn("q.fifo", s, 1); len(got) != 1 {
			t.Errorf("message %d: %d messages received", i, len(got))
		}
	}
	w.send("q.fifo", "g", "3", "m")
	told()
	w.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DelaySeconds", Value: "0"}}})
	if !told() {
		t.Error("nobody was told that the delay is shorter")
	}
}

// TestSessionLockLasts: a queue whose messages are visible at once has no use for locks
// that are over at once.
func TestSessionLockLasts(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "VisibilityTimeout", Value: "0"})
	w.send("q.fifo", "g", "1", "m")
	r := w.must(&AcceptSession{Queue: "q.fifo"}).(SessionLocked)
	if r.LockedUntil != w.at.Add(logtime.Second) {
		t.Errorf("locked until %d at %d, want a second", r.LockedUntil, w.at)
	}
	if got := w.receiveIn("q.fifo", SessionRef{SessionID: r.SessionID, Token: r.Token.String()}, 1); len(got) != 1 {
		t.Errorf("%d messages received under the lock", len(got))
	}
}

// TestReleaseTakesBackDeferred: the release of a session takes back the receives of what
// was not settled under it, also of messages fetched by their numbers.
func TestReleaseTakesBackDeferred(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo")
	w.send("q.fifo", "g", "1", "m")
	s := w.accept("q.fifo", "g", 100)
	m := w.receiveIn("q.fifo", s, 1)[0]
	w.must(&Defer{Queue: "q.fifo", Session: s, Handles: []string{m.Handle.String()}})
	for range 3 {
		w.must(&ReceiveDeferred{Queue: "q.fifo", Session: s, Sequences: []SequenceNumber{m.Sequence}})
		w.must(&ReleaseSession{Queue: "q.fifo", Session: s})
		s = w.accept("q.fifo", "g", 100)
	}
	r := w.must(&ReceiveDeferred{Queue: "q.fifo", Session: s, Sequences: []SequenceNumber{m.Sequence}}).(MessagesReceived)
	if got := r.Messages[0].ReceiveCount; got != 2 {
		t.Errorf("received %d times, want 2: when it was deferred, and now", got)
	}
}
