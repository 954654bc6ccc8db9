package servicebus

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

const cannotBeLocked = "com.microsoft:session-cannot-be-locked"

// next accepts the next available session.
func (f *fixture) next(path string, wait time.Duration) (*bus.SessionReceiver, error) {
	ctx, cancel := context.WithTimeout(f.ctx, wait)
	defer cancel()
	return f.client().AcceptNextSessionForQueue(ctx, path, nil)
}

// none checks that no session was available.
func (f *fixture) none(err error) {
	f.Helper()
	if !errors.Is(err, context.DeadlineExceeded) {
		f.refused(err, bus.CodeTimeout)
	}
}

func TestSessionByID(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, slices.Concat(of("a", "a1"), of("b", "b1"), of("a", "a2"))...)
	r := f.session(path, "a", nil)
	f.same(r.SessionID(), "a", "session id")
	left := time.Until(r.LockedUntil())
	f.holds(left > 30*time.Second && left < 2*time.Minute, "locked for %v", left)
	got := f.drainFrom(r, 2)
	f.same(bodies(got), []string{"a1", "a2"}, "bodies")
	f.same([]any{*got[1].SessionID, got[1].DeliveryCount}, []any{"a", first}, "session and delivery count")
}

func TestNextSession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.sendBatch(path, slices.Concat(of("a", "a1", "a2"), of("b", "b1"))...)
	found := make(map[string][]string)
	for range 2 {
		r, err := f.next(path, idleTimeout)
		f.must(err)
		found[r.SessionID()] = bodies(f.receive(r, 5, 5*time.Second))
	}
	f.same(found, map[string][]string{"a": {"a1", "a2"}, "b": {"b1"}}, "sessions")
	_, err := f.next(path, 2*time.Second)
	f.none(err)
}

func TestReceiversTakeAllSessions(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	want := make(map[string][]string)
	var all []*bus.Message
	for _, name := range texts(8) {
		want[name] = []string{name + "-1", name + "-2"}
		all = append(all, of(name, want[name]...)...)
	}
	f.sendBatch(path, all...)
	type session struct {
		id     string
		bodies []string
		err    error
	}
	taken := make(chan session)
	for range 3 {
		client := f.open(connection(f.endpoint(), key, secret), 0)
		go func() {
			for {
				r, err := client.AcceptNextSessionForQueue(f.ctx, path, nil)
				if err != nil {
					return // the end of the test
				}
				got, err := r.ReceiveMessages(f.ctx, 5, nil)
				for _, m := range got {
					err = errors.Join(err, r.CompleteMessage(f.ctx, m, nil))
				}
				taken <- session{r.SessionID(), bodies(got), errors.Join(err, r.Close(f.ctx))}
			}
		}()
	}
	got := make(map[string][]string)
	for range want {
		s := <-taken
		f.must(s.err)
		got[s.id] = append(got[s.id], s.bodies...)
	}
	f.same(got, want, "sessions")
}

func TestNextSessionComesLater(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	s := f.sender(path)
	go func() {
		pass(2 * time.Second)
		if err := s.SendMessage(f.ctx, of("late", "x")[0], nil); err != nil {
			t.Error(err)
		}
	}()
	r, err := f.next(path, idleTimeout)
	f.must(err)
	f.same([]string{r.SessionID(), string(f.one(r).Body)}, []string{"late", "x"}, "session and body")
}

func TestSessionWithoutMessages(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	r := f.session(path, "empty", nil)
	f.nothing(r)
	f.send(path, of("empty", "x")[0], of("other", "y")[0])
	f.same(bodies(f.receive(r, 5, idleTimeout)), []string{"x"}, "bodies")
}

func TestHeldSession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, of("a", "x")...)
	holder := f.session(path, "a", nil)
	_, err := f.client().AcceptSessionForQueue(f.ctx, path, "a", nil)
	f.failed(err, cannotBeLocked, "")
	_, err = f.open(connection(endpoints[0], key, secret), 0).AcceptSessionForQueue(f.ctx, path, "a", nil)
	f.failed(err, cannotBeLocked, "")
	_, err = f.next(path, 1500*time.Millisecond)
	f.none(err)
	f.must(holder.Close(f.ctx))
	f.same(string(f.one(f.session(path, "a", nil)).Body), "x", "body")
}

func TestWrongReceivers(t *testing.T) {
	f := newFixture(t)
	with, without := f.sessions(admin.QueueProperties{}), f.queue(admin.QueueProperties{})
	_, err := f.receiver(with).ReceiveMessages(f.ctx, 1, nil)
	f.failed(err, "amqp:not-allowed", "non-sessionful message receiver")
	_, err = f.client().AcceptSessionForQueue(f.ctx, without, "a", nil)
	f.failed(err, "amqp:not-allowed", "sessionful message receiver cannot be created")
	_, err = f.next(without, idleTimeout)
	f.failed(err, "amqp:not-allowed", "sessionful message receiver cannot be created")
}

func TestMessagesWithoutASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	s := f.sender(path)
	f.failed(s.SendMessage(f.ctx, message("x"), nil), "amqp:not-allowed", "The SessionId was not set")
	batch, err := s.NewMessageBatch(f.ctx, nil)
	f.must(err)
	f.must(batch.AddMessage(of("a", "y")[0], nil))
	f.must(batch.AddMessage(message("x"), nil))
	f.failed(s.SendMessageBatch(f.ctx, batch, nil), "amqp:not-allowed", "The SessionId was not set")
	_, err = s.ScheduleMessages(f.ctx, []*bus.Message{message("x")}, later(time.Hour), nil)
	f.rejects(err, "The SessionId was not set")
	f.empty(f.session(path, "a", nil))
}

func TestSessionState(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	r := f.session(path, "a", nil)
	state := func(r *bus.SessionReceiver) []byte {
		f.Helper()
		got, err := r.GetSessionState(f.ctx, nil)
		f.must(err)
		return got
	}
	f.same(state(r), []byte(nil), "first state")
	large := bytes.Repeat([]byte{0, 255, 'x'}, 70_000)
	f.must(r.SetSessionState(f.ctx, large, nil))
	f.must(r.Close(f.ctx))
	r = f.session(path, "a", nil)
	f.holds(bytes.Equal(state(r), large), "the state of an empty session is lost")
	f.same(state(f.session(path, "b", nil)), []byte(nil), "state of another session")
	f.must(r.SetSessionState(f.ctx, nil, nil))
	f.same(state(r), []byte(nil), "cleared state")
}

func TestRenewASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{LockDuration: new("PT5S")})
	f.send(path, of("a", "x")...)
	r := f.session(path, "a", nil)
	got := f.one(r)
	for range 3 {
		until := r.LockedUntil()
		pass(2500 * time.Millisecond)
		f.must(r.RenewSessionLock(f.ctx, nil))
		f.holds(r.LockedUntil().After(until), "locked until %v, before until %v", r.LockedUntil(), until)
	}
	f.complete(r, got)
	f.empty(r)
}

func TestLostSession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{LockDuration: new("PT10S")})
	f.send(path, of("a", "x")...)
	loser := f.session(path, "a", nil)
	got := f.one(loser)
	holder := f.session(path, "a", nil)
	f.refused(loser.RenewSessionLock(f.ctx, nil), bus.CodeLockLost)
	_, err := loser.GetSessionState(f.ctx, nil)
	f.refused(err, bus.CodeLockLost)
	f.refused(loser.SetSessionState(f.ctx, []byte("s"), nil), bus.CodeLockLost)
	// The SDK pauses for longer, and then accepts the session again.
	ctx, cancel := context.WithTimeout(f.ctx, time.Second)
	defer cancel()
	f.holds(errors.Is(loser.CompleteMessage(ctx, got, nil), context.DeadlineExceeded), "the message is completed")
	again := f.one(holder)
	f.same([]any{string(again.Body), again.DeliveryCount}, []any{"x", first + 1}, "message")
	f.complete(holder, again)
}

func TestSessionClosedWithoutSettling(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, of("a", "x", "y")...)
	r := f.session(path, "a", nil)
	f.take(r, 2)
	f.must(r.Close(f.ctx))
	for _, m := range f.take(f.session(path, "a", nil), 2) {
		f.same(m.DeliveryCount, first, "delivery count of "+string(m.Body))
	}
}

func TestAbandonInASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{MaxDeliveryCount: new(int32(2))})
	f.send(path, of("a", "x", "y")...)
	r := f.session(path, "a", nil)
	f.must(r.AbandonMessage(f.ctx, f.one(r), nil))
	again := f.one(r)
	f.same([]any{string(again.Body), again.DeliveryCount}, []any{"x", first + 1}, "message")
	f.must(r.AbandonMessage(f.ctx, again, nil))
	f.same(string(f.one(r).Body), "y", "body")
	dead := f.one(f.deadLetters(path))
	f.same([]string{string(dead.Body), *dead.SessionID, text(dead.DeadLetterReason)},
		[]string{"x", "a", "MaxDeliveryCountExceeded"}, "dead letter")
}

func TestDeadLetterInASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, of("a", "x")...)
	r := f.session(path, "a", nil)
	f.must(r.DeadLetterMessage(f.ctx, f.one(r), &bus.DeadLetterOptions{Reason: new("r")}))
	letters := f.deadLetters(path)
	dead := f.one(letters)
	f.same([]string{string(dead.Body), *dead.SessionID}, []string{"x", "a"}, "dead letter")
	f.reason(dead, "r", "")
	f.complete(letters, dead)
}

func TestDeferInASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, of("a", "x", "y")...)
	r := f.session(path, "a", nil)
	got := f.one(r)
	f.must(r.DeferMessage(f.ctx, got, nil))
	f.same(string(f.one(r).Body), "y", "body")
	f.must(r.Close(f.ctx))
	_, err := f.session(path, "b", nil).ReceiveDeferredMessages(f.ctx, []int64{*got.SequenceNumber}, nil)
	f.refused(err, bus.CodeNotFound)
	r = f.session(path, "a", nil)
	f.complete(r, f.deferred(r, got)...)
	f.same(bodies(f.browse(r, 10)), []string{"y"}, "peeked")
}

func TestReceiveAndDeleteInASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, slices.Concat(of("a", "x", "y"), of("b", "z"))...)
	r := f.session(path, "a", &bus.SessionReceiverOptions{ReceiveMode: bus.ReceiveModeReceiveAndDelete})
	f.same(bodies(f.take(r, 2)), []string{"x", "y"}, "bodies")
	f.same(bodies(f.browse(r, 10)), []string{"z"}, "peeked") // the SDK peeks at all sessions
}

func TestSessionIDs(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	ids := []string{"世界", strings.Repeat("é", 128), "a b", "A", "a", "a/b", ""}
	for _, id := range ids {
		f.send(path, of(id, "of "+id)...)
	}
	for _, id := range ids {
		r := f.session(path, id, nil)
		got := f.one(r)
		f.same([]string{r.SessionID(), *got.SessionID, string(got.Body)}, []string{id, id, "of " + id}, "session")
	}
	slices.Sort(ids)
	f.same(f.listed(path, nil), ids, "listed sessions")
}

// listed returns the ids of sessions, sorted.
func (f *fixture) listed(path string, o *bus.ListSessionsOptions) (ids []string) {
	f.Helper()
	pager := f.client().NewListSessionsForQueuePager(path, o)
	for pager.More() {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		ids = append(ids, page.Sessions...)
	}
	slices.Sort(ids)
	return ids
}

func TestListSessions(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.same(f.listed(path, nil), []string(nil), "sessions")
	var all []*bus.Message
	var names []string
	for _, name := range texts(250) {
		all = append(all, of(name, "x")...)
		names = append(names, name)
	}
	f.sendBatch(path, all...)
	before := time.Now().Add(-time.Minute)
	f.must(f.session(path, "with state", nil).SetSessionState(f.ctx, []byte("s"), nil))
	f.session(path, "with nothing", nil)
	names = append(names, "with state")
	slices.Sort(names)
	f.same(f.listed(path, nil), names, "sessions")
	f.same(f.listed(path, &bus.ListSessionsOptions{SessionStateUpdatedAfter: &before}), []string{"with state"}, "sessions with state")
	f.same(f.listed(path, &bus.ListSessionsOptions{SessionStateUpdatedAfter: new(time.Now().Add(time.Hour))}), []string(nil), "later ones")
}
