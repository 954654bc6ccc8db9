package queue

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// TestSessionWaitsForDelay: a waiting receive in a session wakes when the delay of a message ends,
// by the clock or by a change of the queue's delay.
func TestSessionWaitsForDelay(t *testing.T) {
	w := newWorld(t)
	w.create("q.fifo", Attribute{Name: "DelaySeconds", Value: "5"})
	emitted := func() (found bool) {
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
		emitted()
		if at := w.b.NextDeadline(); at != w.at.Add(5*logtime.Second) {
			t.Fatalf("message %d: the clock has work at %d, the delay ends at %d", i, at, w.at.Add(5*logtime.Second))
		}
		w.pass(5 * logtime.Second)
		w.must(&AdvanceClock{})
		if !emitted() {
			t.Errorf("message %d: no event", i)
		}
		if at := w.b.NextDeadline(); at == w.at {
			t.Errorf("message %d: the clock has work without end", i)
		}
		if got := w.receiveIn("q.fifo", s, 1); len(got) != 1 {
			t.Errorf("message %d: %d messages received", i, len(got))
		}
	}
	w.send("q.fifo", "g", "3", "m")
	emitted()
	w.must(&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DelaySeconds", Value: "0"}}})
	if !emitted() {
		t.Error("no event for the shorter delay")
	}
}

// TestSessionLockLasts: a session lock lasts at least a second, even with VisibilityTimeout 0.
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

// TestReleaseTakesBackDeferred: ReleaseSession reverses receives of messages in flight, including
// deferred ones.
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
