package servicebus

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

func TestSendOne(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	sent := &bus.Message{
		Body: []byte("body"), MessageID: new("m-1"), ContentType: new("text/plain"), CorrelationID: new("c-1"), Subject: new("s-1"),
		To: new("t-1"), ReplyTo: new("r-1"), ReplyToSessionID: new("rs-1"), SessionID: new("g-1"), PartitionKey: new("g-1"),
		ApplicationProperties: map[string]any{"number": int64(1)},
	}
	before := time.Now().Add(-5 * time.Second)
	f.send(path, sent)
	got := f.one(f.receiver(path))
	f.same(again(got), sent, "message")
	f.same([]any{got.DeliveryCount, got.State, got.DeadLetterReason, got.DeadLetterErrorDescription, got.DeadLetterSource},
		[]any{first, bus.MessageStateActive, (*string)(nil), (*string)(nil), (*string)(nil)}, "delivery")
	f.holds(*got.SequenceNumber > 0, "sequence number %d", *got.SequenceNumber)
	f.holds(got.EnqueuedTime.After(before) && got.EnqueuedTime.Before(before.Add(5*time.Minute)), "enqueued at %v", got.EnqueuedTime)
	left := got.LockedUntil.Sub(*got.EnqueuedTime)
	f.holds(left > 59*time.Second && left < 5*time.Minute, "locked for %v", left)
	f.holds(got.LockToken != [16]byte{}, "there is no lock token")
}

func TestSendBatch(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	batch, err := s.NewMessageBatch(f.ctx, nil)
	f.must(err)
	var want [][]any
	for i, body := range texts(5) {
		m := named(body, "m-"+body)
		m.ApplicationProperties = map[string]any{"i": int64(i)}
		before := batch.NumBytes()
		f.must(batch.AddMessage(m, nil))
		f.holds(batch.NumBytes() > before, "the size does not grow")
		want = append(want, []any{body, "m-" + body, m.ApplicationProperties})
	}
	f.same(batch.NumMessages(), int32(5), "messages of the batch")
	f.must(s.SendMessageBatch(f.ctx, batch, nil))
	var got [][]any
	messages := f.drain(path, 5)
	for i, m := range messages {
		got = append(got, []any{string(m.Body), m.MessageID, m.ApplicationProperties})
		f.same(*m.SequenceNumber, *messages[0].SequenceNumber+int64(i), "sequence number")
	}
	f.same(got, want, "messages")
}

func TestSendInOrder(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, numbered(10)...)
	f.same(bodies(f.drain(path, 10)), texts(10), "bodies")
}

func TestSendAtOnce(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	var group sync.WaitGroup
	for _, m := range numbered(40) {
		group.Go(func() {
			if err := s.SendMessage(f.ctx, m, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got := bodies(f.drain(path, 40))
	slices.SortFunc(got, byNumber)
	f.same(got, texts(40), "bodies")
}

func TestBatchThatIsFull(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	batch, err := s.NewMessageBatch(f.ctx, nil)
	f.must(err)
	for err == nil {
		err = batch.AddMessage(&bus.Message{Body: make([]byte, 50_000)}, nil)
	}
	f.holds(errors.Is(err, bus.ErrMessageTooLarge), "got %v", err)
	count := int(batch.NumMessages())
	f.holds(count > 4 && count < 25, "%d messages of 50 kB in a batch", count)
	f.must(s.SendMessageBatch(f.ctx, batch, nil))
	f.drain(path, count)
}

func TestBatchWithALimitOfItsOwn(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	batch, err := s.NewMessageBatch(f.ctx, &bus.MessageBatchOptions{MaxBytes: 1000})
	f.must(err)
	f.must(batch.AddMessage(&bus.Message{Body: make([]byte, 500)}, nil))
	f.holds(errors.Is(batch.AddMessage(&bus.Message{Body: make([]byte, 500)}, nil), bus.ErrMessageTooLarge), "the message fits")
	f.must(s.SendMessageBatch(f.ctx, batch, nil))
	f.drain(path, 1)
}

func TestBatchOfAnnotatedMessages(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	batch, err := s.NewMessageBatch(f.ctx, nil)
	f.must(err)
	for _, body := range texts(2) {
		f.must(batch.AddAMQPAnnotatedMessage(&bus.AMQPAnnotatedMessage{
			Body: bus.AMQPAnnotatedMessageBody{Value: body}, Properties: &bus.AMQPAnnotatedMessageProperties{MessageID: body},
		}, nil))
	}
	f.must(s.SendMessageBatch(f.ctx, batch, nil))
	var got []any
	for _, m := range f.drain(path, 2) {
		got = append(got, m.RawAMQPMessage.Body.Value, m.MessageID)
	}
	f.same(got, []any{"0", "0", "1", "1"}, "values and ids")
}

func TestBatchOfHundreds(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.sendBatch(path, numbered(500)...)
	f.same(bodies(f.drain(path, 500)), texts(500), "bodies")
}

func TestMessageOfSeveralFrames(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	body := bytes.Repeat([]byte("0123456"), 130_000)
	f.send(path, &bus.Message{Body: body})
	f.holds(bytes.Equal(f.drain(path, 1)[0].Body, body), "the body differs")
}

func TestMessageTooLarge(t *testing.T) {
	f := newFixture(t)
	path, small := f.queue(admin.QueueProperties{}), f.queue(admin.QueueProperties{MaxMessageSizeInKilobytes: new(int64(256))})
	for name, size := range map[string]int{path: 1_100_000, small: 270_000} {
		s := f.sender(name)
		err := s.SendMessage(f.ctx, &bus.Message{Body: make([]byte, size)}, nil)
		f.holds(errors.Is(err, bus.ErrMessageTooLarge), "got %v", err)
		f.must(s.SendMessage(f.ctx, message("x"), nil))
		f.same(bodies(f.drain(name, 1)), []string{"x"}, "bodies")
	}
}

func TestClosedSender(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s := f.sender(path)
	f.must(s.SendMessage(f.ctx, message("x"), nil))
	f.must(s.Close(f.ctx))
	f.refused(s.SendMessage(f.ctx, message("y"), nil), bus.CodeClosed)
	f.same(bodies(f.drain(path, 1)), []string{"x"}, "bodies")
}

func TestReceivedMessageIsSentAgain(t *testing.T) {
	f := newFixture(t)
	one, other := f.queue(admin.QueueProperties{}), f.queue(admin.QueueProperties{})
	m := message("x")
	m.ApplicationProperties, m.CorrelationID, m.TimeToLive = map[string]any{"a": int64(1)}, new("c"), new(10*time.Minute)
	f.send(one, m)
	f.send(other, f.one(f.receiver(one)).Message())
	f.same(again(f.one(f.receiver(other))), m, "message")
}

func TestSendWhileReceiving(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	s, r := f.sender(path), f.receiver(path)
	failed := make(chan error, 1)
	go func() {
		for _, m := range numbered(100) {
			if err := s.SendMessage(f.ctx, m, nil); err != nil {
				failed <- err
				break
			}
		}
		close(failed)
	}()
	var got []string
	for len(got) < 100 {
		some := f.receive(r, 10, 10*time.Second)
		f.complete(r, some...)
		got = append(got, bodies(some)...)
		f.holds(len(some) > 0, "only %d messages", len(got))
	}
	f.must(<-failed)
	slices.SortFunc(got, byNumber) // the SDK gives back messages between two receives
	f.same(got, texts(100), "bodies")
}

func TestMessagesWithoutID(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, &bus.Message{Body: []byte("1")}, &bus.Message{Body: []byte("2")})
	f.sendBatch(path, &bus.Message{Body: []byte("3")}, &bus.Message{Body: []byte("4")})
	got := f.drain(path, 4)
	f.same(bodies(got), from(1, 5), "bodies")
	f.holds(got[2].MessageID != got[3].MessageID, "two messages have the id %s", got[3].MessageID)
	detecting := f.queue(admin.QueueProperties{RequiresDuplicateDetection: new(true)})
	f.failed(f.sender(detecting).SendMessage(f.ctx, &bus.Message{Body: []byte("x")}, nil), "amqp:not-allowed", "")
}
