package servicebus

import (
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// withMessage creates a queue with a message, and receives it.
func (f *fixture) withMessage(p admin.QueueProperties) (path string, r *bus.Receiver, got *bus.ReceivedMessage) {
	f.Helper()
	path = f.queue(p)
	m := message("x")
	m.ApplicationProperties = map[string]any{"kept": int64(1)}
	f.send(path, m)
	r = f.receiver(path)
	return path, r, f.one(r)
}

// reason checks why a message is a dead letter.
func (f *fixture) reason(m *bus.ReceivedMessage, reason, description string) {
	f.Helper()
	f.same([]string{text(m.DeadLetterReason), text(m.DeadLetterErrorDescription)}, []string{reason, description}, "reason and description")
}

func TestComplete(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	f.complete(r, got)
	f.empty(r)
}

func TestCompleteOutOfOrder(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(10, admin.QueueProperties{})
	got := f.take(r, 10)
	for i := 8; i >= 0; i -= 2 {
		f.complete(r, got[i])
	}
	f.same(bodies(f.browse(r, 20)), []string{"1", "3", "5", "7", "9"}, "peeked")
}

func TestCompleteAfterTheReceiverHasClosed(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.Close(f.ctx))
	f.refused(r.CompleteMessage(f.ctx, got, nil), bus.CodeClosed)
	other := f.receiver(path)
	f.complete(other, got) // over the management link
	f.empty(other)
}

func TestCompleteWithAnotherClient(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.Close(f.ctx))
	other, err := f.open(connection(endpoints[0], key, secret), 0).NewReceiverForQueue(path, nil)
	f.must(err)
	f.must(other.DeadLetterMessage(f.ctx, got, &bus.DeadLetterOptions{
		Reason: new("r"), ErrorDescription: new("d"), PropertiesToModify: map[string]any{"more": int64(5)},
	}))
	dead := f.one(f.deadLetters(path))
	f.reason(dead, "r", "d")
	f.same(dead.ApplicationProperties["more"], int64(5), "property")
}

func TestCompleteWithALockToken(t *testing.T) {
	f := newFixture(t)
	path, _, got := f.withMessage(admin.QueueProperties{})
	other := f.receiver(path)
	token := &bus.ReceivedMessage{LockToken: got.LockToken}
	f.must(other.RenewMessageLock(f.ctx, token, nil))
	f.holds(token.LockedUntil.After(*got.LockedUntil), "locked until %v, before until %v", token.LockedUntil, got.LockedUntil)
	f.complete(other, token)
	f.empty(other)
}

func TestAbandon(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	for count := range uint32(3) {
		f.must(r.AbandonMessage(f.ctx, got, nil))
		got = f.one(r)
		f.same([]any{string(got.Body), got.DeliveryCount}, []any{"x", first + 1 + count}, "message")
	}
	f.complete(r, got)
}

func TestAbandonedMessagesComeFirst(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(3, admin.QueueProperties{})
	f.must(r.AbandonMessage(f.ctx, f.one(r), nil))
	f.same(bodies(f.take(r, 3)), texts(3), "bodies")
}

func TestAbandonWithProperties(t *testing.T) {
	f := newFixture(t)
	_, r, got := f.withMessage(admin.QueueProperties{})
	modified := map[string]any{"added": "a", "kept": int64(2), "flag": true, "double": 0.5, "time": time.UnixMilli(1767312000000)}
	f.must(r.AbandonMessage(f.ctx, got, &bus.AbandonMessageOptions{PropertiesToModify: modified}))
	f.same(f.one(r).ApplicationProperties, modified, "properties")
}

func TestTooManyDeliveries(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{MaxDeliveryCount: new(int32(3))})
	for count := range uint32(3) {
		f.same(got.DeliveryCount, first+count, "delivery count")
		f.must(r.AbandonMessage(f.ctx, got, nil))
		if count < 2 {
			got = f.one(r)
		}
	}
	f.nothing(r)
	dead := f.one(f.deadLetters(path))
	f.same(text(dead.DeadLetterReason), "MaxDeliveryCountExceeded", "reason")
	f.holds(text(dead.DeadLetterErrorDescription) != "", "there is no description")
	f.same([]any{string(dead.Body), dead.MessageID, dead.ApplicationProperties["kept"]}, []any{"x", got.MessageID, int64(1)}, "message")
}

func TestTooManyExpiredLocks(t *testing.T) {
	f := newFixture(t)
	path, r, _ := f.withMessage(admin.QueueProperties{LockDuration: new("PT1S"), MaxDeliveryCount: new(int32(1))})
	letters := f.deadLetters(path)
	var dead []*bus.ReceivedMessage
	f.eventually("the message is dead-lettered", func() bool {
		f.receive(r, 1, time.Second)
		dead = f.receive(letters, 1, time.Second)
		return len(dead) > 0
	})
	f.same(text(dead[0].DeadLetterReason), "MaxDeliveryCountExceeded", "reason")
}

func TestDeadLetter(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeadLetterMessage(f.ctx, got, &bus.DeadLetterOptions{
		Reason: new("r é"), ErrorDescription: new("d"), PropertiesToModify: map[string]any{"added": "a", "kept": int64(2)},
	}))
	f.nothing(r)
	letters := f.deadLetters(path)
	dead := f.one(letters)
	f.reason(dead, "r é", "d")
	f.same(dead.ApplicationProperties, map[string]any{
		"added": "a", "kept": int64(2), "DeadLetterReason": "r é", "DeadLetterErrorDescription": "d",
	}, "properties")
	f.same([]string{string(dead.Body), dead.MessageID}, []string{"x", got.MessageID}, "message")
	f.complete(letters, dead)
	f.empty(letters)
}

func TestDeadLetterWithoutAReason(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeadLetterMessage(f.ctx, got, nil))
	dead := f.one(f.deadLetters(path))
	f.reason(dead, "", "")
	f.same(string(dead.Body), "x", "body")
}

func TestDeadLetterQueue(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(5, admin.QueueProperties{})
	for _, m := range f.take(r, 5) {
		f.must(r.DeadLetterMessage(f.ctx, m, &bus.DeadLetterOptions{Reason: new(string(m.Body))}))
	}
	letters := f.deadLetters(path)
	f.same(bodies(f.browse(letters, 10)), texts(5), "peeked")
	got := f.take(letters, 5)
	f.must(letters.AbandonMessage(f.ctx, got[0], nil))
	f.must(letters.DeferMessage(f.ctx, got[1], nil))
	f.must(letters.RenewMessageLock(f.ctx, got[2], nil))
	f.complete(letters, got[2])
	back := f.deferred(letters, got[1])[0]
	f.reason(back, "1", "")
	f.complete(letters, back)
	again := f.one(letters)
	f.same([]any{string(again.Body), again.DeliveryCount}, []any{"0", got[0].DeliveryCount + 1}, "abandoned message")
}

func TestDeadLettersNeverDieAgain(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{MaxDeliveryCount: new(int32(2))})
	f.must(r.DeadLetterMessage(f.ctx, got, nil))
	letters := f.deadLetters(path)
	for range 5 {
		f.must(letters.AbandonMessage(f.ctx, f.one(letters), nil))
	}
	f.same(string(f.one(letters).Body), "x", "body")
}

func TestReceiveAndDeleteDeadLetters(t *testing.T) {
	f := newFixture(t)
	path, r, got := f.withMessage(admin.QueueProperties{})
	f.must(r.DeadLetterMessage(f.ctx, got, nil))
	letters := f.receiverWith(path, &bus.ReceiverOptions{SubQueue: bus.SubQueueDeadLetter, ReceiveMode: bus.ReceiveModeReceiveAndDelete})
	f.same(string(f.one(letters).Body), "x", "body")
	f.empty(letters)
}

func TestNothingIsSentToDeadLetters(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.failed(f.sender(path+"/$DeadLetterQueue").SendMessage(f.ctx, message("x"), nil), "amqp:not-allowed", "")
}
