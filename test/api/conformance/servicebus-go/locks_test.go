package servicebus

import (
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

func TestDefer(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeferMessage(f.ctx, got, &bus.DeferMessageOptions{PropertiesToModify: map[string]any{"added": "a"}}))
	f.nothing(r)
	back := f.deferred(r, got)[0]
	f.same([]any{string(back.Body), *back.SequenceNumber, back.State, back.DeliveryCount, back.ApplicationProperties},
		[]any{"x", *got.SequenceNumber, bus.MessageStateDeferred, first + 1, map[string]any{"kept": int64(1), "added": "a"}}, "message")
	f.holds(back.LockedUntil != nil && back.LockedUntil.After(time.Now()), "the message has no lock")
	f.complete(r, back)
	f.empty(r)
}

func TestDeferredMessagesAreSettled(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(4, admin.QueueProperties{})
	got := f.take(r, 4)
	for _, m := range got {
		f.must(r.DeferMessage(f.ctx, m, nil))
	}
	back := f.deferred(r, got...)
	f.same(bodies(back), texts(4), "bodies")
	f.complete(r, back[0])
	f.must(r.AbandonMessage(f.ctx, back[1], &bus.AbandonMessageOptions{PropertiesToModify: map[string]any{"n": int64(1)}}))
	f.must(r.DeferMessage(f.ctx, back[2], &bus.DeferMessageOptions{PropertiesToModify: map[string]any{"n": int64(2)}}))
	f.must(r.DeadLetterMessage(f.ctx, back[3], &bus.DeadLetterOptions{Reason: new("r"), ErrorDescription: new("d")}))
	f.reason(f.one(f.deadLetters(path)), "r", "d")
	for i, m := range f.deferred(r, got[1], got[2]) {
		f.same([]any{string(m.Body), m.ApplicationProperties["n"]}, []any{texts(3)[i+1], int64(i + 1)}, "message")
	}
	f.nothing(r)
}

func TestDeferredMessagesAreDeleted(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeferMessage(f.ctx, got, nil))
	f.same(bodies(f.deferred(f.receiverWith(path, deletes()), got)), []string{"x"}, "bodies")
	f.empty(r)
}

func TestUnknownDeferredMessages(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	missing := func(number int64) {
		f.Helper()
		_, err := r.ReceiveDeferredMessages(f.ctx, []int64{number}, nil)
		f.refused(err, bus.CodeNotFound)
	}
	missing(4711)
	missing(*got.SequenceNumber)
	f.must(r.DeferMessage(f.ctx, got, nil))
	f.deferred(r, got)
	missing(*got.SequenceNumber)
}

func TestDeferredLocksEnd(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{LockDuration: new("PT1S")})
	f.must(r.DeferMessage(f.ctx, got, nil))
	f.deferred(r, got)
	var back []*bus.ReceivedMessage
	f.eventually("the deferred message is free", func() bool {
		var err error
		if back, err = r.ReceiveDeferredMessages(f.ctx, sequenceNumbers([]*bus.ReceivedMessage{got}), nil); err != nil {
			f.refused(err, bus.CodeNotFound)
		}
		return err == nil
	})
	f.complete(r, back...)
}

func TestRenewALock(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{LockDuration: new("PT5S")})
	for range 3 {
		until := *got.LockedUntil
		pass(2500 * time.Millisecond)
		f.must(r.RenewMessageLock(f.ctx, got, nil))
		f.holds(got.LockedUntil.After(until), "locked until %v, before until %v", got.LockedUntil, until)
	}
	f.complete(r, got)
	f.empty(r)
}

func TestRenewTheLockOfADeferredMessage(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeferMessage(f.ctx, got, nil))
	back := f.deferred(r, got)[0]
	until := *back.LockedUntil
	f.eventually("the lock is longer", func() bool {
		f.must(r.RenewMessageLock(f.ctx, back, nil))
		return back.LockedUntil.After(until)
	})
	f.complete(r, back)
}

func TestLostLocks(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(5, admin.QueueProperties{LockDuration: new("PT1S")})
	got := f.take(r, 5)
	for _, m := range f.take(f.receiver(path), 5) {
		f.same(m.DeliveryCount, first+1, "delivery count")
	}
	f.refused(r.RenewMessageLock(f.ctx, got[0], nil), bus.CodeLockLost)
	f.refused(r.CompleteMessage(f.ctx, got[1], nil), bus.CodeLockLost)
	f.refused(r.AbandonMessage(f.ctx, got[2], nil), bus.CodeLockLost)
	f.refused(r.DeferMessage(f.ctx, got[3], nil), bus.CodeLockLost)
	f.refused(r.DeadLetterMessage(f.ctx, got[4], nil), bus.CodeLockLost)
	f.same(bodies(f.browse(r, 10)), texts(5), "peeked")
}
