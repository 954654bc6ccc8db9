package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/test/kit/harness"
	seriatim "github.com/seriatimq/seriatim/transport/grpc/client"
)

// These features need the native API. Each call goes to the next node.

// native are clients of the single nodes.
type native struct {
	clients []*seriatim.Client
	calls   atomic.Int64
}

func newNative(t *testing.T) *native {
	t.Helper()
	n := &native{}
	for _, node := range shared.cluster.Nodes {
		c, err := seriatim.Dial(seriatim.Options{}, node.Client)
		harness.Must(t, err)
		t.Cleanup(func() {
			harness.Check(t, c.Close())
		})
		n.clients = append(n.clients, c)
	}
	return n
}

// next returns the client of the next node.
func (n *native) next() *seriatim.Client {
	return n.clients[int(n.calls.Add(1))%len(n.clients)]
}

// queue makes a queue of its own for the test.
func (n *native) queue(t *testing.T, attributes map[string]string) string {
	t.Helper()
	name := unique(t) + ".fifo"
	harness.Must(t, harness.Err(n.next().CreateQueue(t.Context(), name, attributes, nil)))
	return name
}

func nativeMessage(group, id string) *seriatim.Message {
	return &seriatim.Message{Body: id, GroupId: &group, DeduplicationId: &id}
}

// send sends messages of a group, whose ids are their bodies.
func (n *native) send(t *testing.T, queue, group string, ids ...string) *seriatim.Result {
	t.Helper()
	var last *seriatim.Result
	for _, id := range ids {
		results, err := n.next().Send(t.Context(), queue, nativeMessage(group, id))
		harness.Must(t, err)
		last = results[0]
	}
	return last
}

func (n *native) schedule(t *testing.T, queue, group, id string, at time.Time) *seriatim.Result {
	t.Helper()
	results, err := n.next().Schedule(t.Context(), queue, at, nativeMessage(group, id))
	harness.Must(t, err)
	return results[0]
}

// accept locks a session by its id.
func (n *native) accept(t *testing.T, queue, id string, seconds int32) *seriatim.Session {
	t.Helper()
	s, err := n.next().Accept(t.Context(), queue, id, seriatim.SessionOptions{LockSeconds: seconds})
	harness.Must(t, err)
	t.Cleanup(func() {
		harness.Check(t, s.Release(context.WithoutCancel(t.Context())))
	})
	return s
}

// left receives and deletes the remaining messages of a queue.
func (n *native) left(t *testing.T, queue string, wait int32) []string {
	t.Helper()
	messages, err := n.next().ReceiveAndDelete(t.Context(), queue, 10, wait)
	harness.Must(t, err)
	return textsOf(messages)
}

func textsOf[M interface{ GetBody() string }](messages []M) (out []string) {
	for _, m := range messages {
		out = append(out, m.GetBody())
	}
	return out
}

func wantTexts(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

// wantNative checks the code and the reason of an error.
func wantNative(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	got := status.Code(err)
	if failure, ok := errors.AsType[*seriatim.FailureError](err); ok {
		got = failure.Code
	}
	if got != code || seriatim.Reason(err) != reason {
		t.Errorf("got %v, want %v %s", err, code, reason)
	}
}

func TestNativeDuplicate(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, nil)
	first, again := n.send(t, queue, "g", "A"), n.send(t, queue, "h", "A")
	if first.GetDuplicate() || !again.GetDuplicate() || again.GetMessageId() != first.GetMessageId() ||
		again.GetSequenceNumber() != first.GetSequenceNumber() {
		t.Errorf("the first is %v, the second %v", first, again)
	}
}

func TestNativeScheduled(t *testing.T) {
	n := newNative(t)
	later := time.Now().Add(time.Hour)
	t.Run("cancelled", func(t *testing.T) {
		queue := n.queue(t, nil)
		at := time.Now().Add(5 * time.Second)
		scheduled, other := n.schedule(t, queue, "g", "A", at), n.schedule(t, queue, "g", "B", at)
		if err := n.next().CancelScheduled(t.Context(), queue, false, scheduled.GetSequenceNumber()); err != nil {
			if time.Now().Before(at) {
				t.Fatal(err)
			}
			t.Skip("the message was due before its cancellation could come, which shows nothing of cancelling")
		}
		wantTexts(t, n.left(t, queue, 20), "B")
		wantNative(t, n.next().CancelScheduled(t.Context(), queue, false, other.GetSequenceNumber()), codes.NotFound, "MessageNotFound")
		wantTexts(t, n.left(t, queue, 0))
	})
	t.Run("active", func(t *testing.T) {
		queue := n.queue(t, nil)
		scheduled := n.schedule(t, queue, "g", "A", time.Now().Add(-time.Second))
		wantNative(t, n.next().CancelScheduled(t.Context(), queue, false, scheduled.GetSequenceNumber()), codes.NotFound,
			"MessageNotFound")
		wantTexts(t, n.left(t, queue, 0), "A")
	})
	t.Run("unknown number", func(t *testing.T) {
		wantNative(t, n.next().CancelScheduled(t.Context(), n.queue(t, nil), false, 99), codes.NotFound, "MessageNotFound")
	})
	t.Run("both directions", func(t *testing.T) {
		queue := n.queue(t, nil)
		scheduled, sent := n.schedule(t, queue, "g", "A", later), n.send(t, queue, "g", "B")
		again := n.send(t, queue, "g", "A")
		if !again.GetDuplicate() || !again.GetFirstIsScheduled() || again.GetSequenceNumber() != scheduled.GetSequenceNumber() {
			t.Errorf("sent what is scheduled: %v", again)
		}
		again = n.schedule(t, queue, "g", "B", later)
		if !again.GetDuplicate() || again.GetFirstIsScheduled() || again.GetSequenceNumber() != sent.GetSequenceNumber() {
			t.Errorf("scheduled what was sent: %v", again)
		}
	})
}

func TestNativeSession(t *testing.T) {
	n := newNative(t)
	t.Run("held by another", func(t *testing.T) {
		queue := n.queue(t, nil)
		n.accept(t, queue, "s", 600)
		_, err := n.next().Accept(t.Context(), queue, "s", seriatim.SessionOptions{})
		wantNative(t, err, codes.FailedPrecondition, "SessionCannotBeLocked")
	})
	t.Run("next, all held", func(t *testing.T) {
		queue := n.queue(t, nil)
		n.send(t, queue, "s", "A")
		n.accept(t, queue, "s", 600)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := n.next().AcceptNext(ctx, queue, seriatim.SessionOptions{})
		if status.Code(err) != codes.DeadlineExceeded || time.Since(begun) < 2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
	t.Run("next, two free", func(t *testing.T) {
		queue := n.queue(t, nil)
		n.send(t, queue, "s1", "A")
		n.send(t, queue, "s2", "B")
		var ids []string
		for range 2 {
			s, err := n.next().AcceptNext(t.Context(), queue, seriatim.SessionOptions{LockSeconds: 600})
			harness.Must(t, err)
			t.Cleanup(func() { _ = s.Release(context.WithoutCancel(t.Context())) }) // the queue is of no more use
			ids = append(ids, s.ID())
		}
		slices.Sort(ids)
		wantTexts(t, ids, "s1", "s2")
	})
	t.Run("new messages", func(t *testing.T) {
		queue := n.queue(t, nil)
		s := n.accept(t, queue, "s", 600)
		n.send(t, queue, "s", "A")
		wantTexts(t, n.left(t, queue, 0))
		got, err := s.Receive(t.Context(), 10, 20)
		harness.Must(t, err)
		wantTexts(t, textsOf(got), "A")
	})
	t.Run("abandoned", func(t *testing.T) {
		queue := n.queue(t, nil)
		n.send(t, queue, "s", "m1", "m2")
		s := n.accept(t, queue, "s", 600)
		for want := int64(1); want < 3; want++ {
			got, err := s.Receive(t.Context(), 1, 0)
			if err != nil || len(got) != 1 || got[0].GetBody() != "m1" || got[0].GetReceiveCount() != want {
				t.Fatalf("received %v, %v", got, err)
			}
			harness.Check(t, s.Abandon(t.Context(), got[0].GetReceiptHandle()))
		}
	})
}

// A renewed lock lasts longer than its first period. One without renewals ends by log time.
func TestNativeSessionLock(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, nil)
	n.send(t, queue, "s", "A")
	s := n.accept(t, queue, "s", 9) // renews at each third
	got, err := s.Receive(t.Context(), 1, 20)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	select {
	case <-s.Lost():
		t.Skip("this process stood still for longer than the lock lasts, so that nobody could have renewed it")
	case <-time.After(11 * time.Second): // longer than the lock
	}
	if again, err := s.Receive(t.Context(), 1, 0); err != nil || len(again) != 0 {
		t.Errorf("a renewed lock: received %v, %v", again, err)
	}
	if err := s.Complete(t.Context(), got[0].GetReceiptHandle()); err != nil {
		t.Errorf("under a renewed lock: %v", err)
	}
}

func TestNativeSessionLockEnds(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, nil)
	n.send(t, queue, "s", "A")
	first, err := n.next().Accept(t.Context(), queue, "s", seriatim.SessionOptions{LockSeconds: 5, ManualRenewal: true})
	harness.Must(t, err)
	got, err := first.Receive(t.Context(), 1, 0)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	second, err := n.next().AcceptNext(t.Context(), queue, seriatim.SessionOptions{LockSeconds: 600})
	harness.Must(t, err)
	wantNative(t, first.Complete(t.Context(), got[0].GetReceiptHandle()), codes.Aborted, "SessionLockLost")
	again, err := second.Receive(t.Context(), 1, 0)
	if err != nil || len(again) != 1 || again[0].GetBody() != "A" || again[0].GetReceiveCount() != 2 {
		t.Errorf("delivered again: %v, %v", again, err)
	}
	harness.Check(t, second.Release(t.Context()))
}

func TestNativeSessionState(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, map[string]string{"MaximumMessageSize": "262144"})
	s := n.accept(t, queue, "s", 600)
	if state, err := s.State(t.Context()); err != nil || state != nil {
		t.Errorf("never set: %q, %v", state, err)
	}
	large := []byte(strings.Repeat("x", 256<<10))
	if err := s.SetState(t.Context(), large); err != nil {
		t.Errorf("256 KiB: %v", err)
	}
	if state, err := s.State(t.Context()); err != nil || len(state) != len(large) {
		t.Errorf("read %d bytes, %v", len(state), err)
	}
	wantNative(t, s.SetState(t.Context(), append(large, 'x')), codes.InvalidArgument, "InvalidParameterValue")
}

func TestNativeDeadLetter(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, map[string]string{"ImplicitDeadLetterQueue": "true"})
	n.send(t, queue, "s", "A")
	s := n.accept(t, queue, "s", 600)
	got, err := s.Receive(t.Context(), 1, 0)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	harness.Must(t, s.DeadLetter(t.Context(), got[0].GetReceiptHandle(), "Unreadable", "no JSON"))
	dead, err := n.next().ReceiveAndDelete(t.Context(), strings.TrimSuffix(queue, ".fifo")+"-dlq.fifo", 1, 0)
	if err != nil || len(dead) != 1 || dead[0].GetAttributes()["DeadLetterReason"].GetText() != "Unreadable" ||
		dead[0].GetAttributes()["DeadLetterErrorDescription"].GetText() != "no JSON" {
		t.Errorf("in the dead-letter queue: %v, %v", dead, err)
	}
}

func TestNativeDeferred(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, nil)
	n.send(t, queue, "s", "A", "B")
	s := n.accept(t, queue, "s", 600)
	got, err := s.Receive(t.Context(), 1, 0)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	harness.Must(t, s.Defer(t.Context(), got[0].GetReceiptHandle()))
	next, err := s.Receive(t.Context(), 1, 0)
	harness.Must(t, err)
	wantTexts(t, textsOf(next), "B")
	deferred, err := s.ReceiveDeferred(t.Context(), got[0].GetSequenceNumber())
	if err != nil || len(deferred) != 1 || deferred[0].GetBody() != "A" || deferred[0].GetGroupId() != "s" ||
		deferred[0].GetDeduplicationId() != "A" {
		t.Fatalf("received %v, %v", deferred, err)
	}
	harness.Must(t, s.Complete(t.Context(), deferred[0].GetReceiptHandle()))
	_, err = s.ReceiveDeferred(t.Context(), got[0].GetSequenceNumber())
	wantNative(t, err, codes.NotFound, "MessageNotFound")
}

func TestNativePeek(t *testing.T) {
	n := newNative(t)
	queue := n.queue(t, nil)
	n.send(t, queue, "g", "A")
	from := n.send(t, queue, "g", "B").GetSequenceNumber()
	n.send(t, queue, "g", "C")
	n.schedule(t, queue, "g", "D", time.Now().Add(time.Hour))
	for range 2 {
		peeked, next, err := n.next().Peek(t.Context(), queue, from, 10)
		if err != nil || next != 0 {
			t.Fatal(next, err)
		}
		var got []string
		for _, m := range peeked {
			got = append(got, m.GetMessage().GetBody())
			if m.GetMessage().GetReceiveCount() != 0 {
				t.Errorf("the count of %q is %d", m.GetMessage().GetBody(), m.GetMessage().GetReceiveCount())
			}
		}
		wantTexts(t, got, "B", "C", "D")
	}
	wantTexts(t, n.left(t, queue, 0), "A", "B", "C")
}
