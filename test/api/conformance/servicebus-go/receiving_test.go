package servicebus

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// filled creates a queue with messages, and returns it with a receiver.
func (f *fixture) filled(count int, p admin.QueueProperties) (path string, r *bus.Receiver) {
	f.Helper()
	path = f.queue(p)
	f.sendBatch(path, numbered(count)...)
	return path, f.receiver(path)
}

func TestNothingToReceive(t *testing.T) {
	f := newFixture(t)
	r := f.receiver(f.queue(admin.QueueProperties{}))
	f.nothing(r)
	f.nothingFor(r, 50*time.Millisecond)
}

func TestAtMostTheCount(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(10, admin.QueueProperties{})
	f.same(bodies(f.take(r, 3)), texts(3), "bodies")
	f.same(bodies(f.take(r, 7)), from(3, 10), "bodies")
	f.nothing(r)
}

func TestMoreThanThereAre(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(3, admin.QueueProperties{})
	f.same(bodies(f.receive(r, 50, 10*time.Second)), texts(3), "bodies")
	f.send(path, message("later"))
	f.same(bodies(f.receive(r, 50, 10*time.Second)), []string{"later"}, "bodies")
}

func TestMessageThatComesLater(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	r, s := f.receiver(path), f.sender(path)
	go func() {
		pass(2 * time.Second)
		if err := s.SendMessage(f.ctx, message("x"), nil); err != nil {
			t.Error(err)
		}
	}()
	f.same(bodies(f.receive(r, 5, idleTimeout)), []string{"x"}, "bodies")
}

// The SDK leaves credit after a receive, and gives back the messages that come for it.
func TestMessagesBetweenReceives(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(1, admin.QueueProperties{})
	f.complete(r, f.receive(r, 20, 10*time.Second)...)
	f.sendBatch(path, numbered(10)...)
	other := f.receiver(path)
	got := f.take(other, 10)
	for _, m := range got {
		f.same(m.DeliveryCount, first, "delivery count")
	}
	numbers := bodies(got)
	slices.Sort(numbers)
	f.same(numbers, texts(10), "bodies")
}

func TestReceiveAndDelete(t *testing.T) {
	f := newFixture(t)
	path, browser := f.filled(10, admin.QueueProperties{})
	r := f.receiverWith(path, deletes())
	got := f.take(r, 4)
	f.same(bodies(got), texts(4), "bodies")
	f.same(got[0].LockedUntil, (*time.Time)(nil), "lock")
	f.rejects(r.CompleteMessage(f.ctx, got[0], nil), "not settleable")
	f.same(bodies(f.browse(browser, 10)), from(4, 10), "peeked")
	f.same(bodies(f.take(r, 6)), from(4, 10), "bodies")
	f.empty(browser)
}

// A message that is deleted for a credit that the SDK left is kept until the next receive.
func TestReceiveAndDeleteBetweenReceives(t *testing.T) {
	f := newFixture(t)
	path, _ := f.filled(1, admin.QueueProperties{})
	r := f.receiverWith(path, deletes())
	f.same(bodies(f.receive(r, 5, 10*time.Second)), texts(1), "bodies")
	f.sendBatch(path, numbered(3)...)
	f.must(r.Close(f.ctx))
	kept, err := r.ReceiveMessages(f.ctx, 5, nil)
	if err != nil {
		f.refused(err, bus.CodeClosed)
	}
	left := f.drain(path, 3-len(kept))
	f.same(bodies(append(kept, left...)), texts(3), "bodies")
}

func TestLockedForOthers(t *testing.T) {
	f := newFixture(t)
	path, holder := f.filled(1, admin.QueueProperties{LockDuration: new("PT2S")})
	f.same(f.one(holder).DeliveryCount, first, "delivery count")
	second := f.receiver(path)
	again := f.one(second)
	f.same([]any{string(again.Body), again.DeliveryCount}, []any{"0", first + 1}, "message after the end of the lock")
	f.complete(second, again)
}

func TestLocksOutliveTheirReceiver(t *testing.T) {
	f := newFixture(t)
	path, holder := f.filled(1, admin.QueueProperties{LockDuration: new("PT10S")})
	f.one(holder)
	f.must(holder.Close(f.ctx))
	r := f.receiver(path)
	f.nothingFor(r, 3*time.Second)
	f.same(f.one(r).DeliveryCount, first+1, "delivery count")
}

func TestCompetingReceivers(t *testing.T) {
	f := newFixture(t)
	path, _ := f.filled(60, admin.QueueProperties{})
	var group sync.WaitGroup
	found := make(chan string, 60)
	for range 3 {
		r := f.receiver(path)
		group.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(f.ctx, 2*time.Second)
				some, err := r.ReceiveMessages(ctx, 5, nil)
				cancel()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				for _, m := range some {
					if err := r.CompleteMessage(f.ctx, m, nil); err != nil {
						t.Error(err)
					}
					found <- string(m.Body)
				}
			}
		})
	}
	group.Wait()
	close(found)
	var got []string
	for body := range found {
		got = append(got, body)
	}
	slices.SortFunc(got, byNumber)
	f.same(got, texts(60), "bodies")
}

func TestTwoReceivesAtOnce(t *testing.T) {
	f := newFixture(t)
	r := f.receiver(f.queue(admin.QueueProperties{}))
	f.nothing(r) // the link is open
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error)
	go func() {
		var err error
		for ctx.Err() == nil { // it can be the one that is refused
			_, err = r.ReceiveMessages(ctx, 1, nil)
		}
		ended <- err
	}()
	f.eventually("a receive is refused", func() bool {
		short, cancel := context.WithTimeout(f.ctx, 10*time.Millisecond)
		defer cancel()
		_, err := r.ReceiveMessages(short, 1, nil)
		return err != nil && !errors.Is(err, context.DeadlineExceeded)
	})
	cancel()
	f.holds(errors.Is(<-ended, context.Canceled), "the receive was not cancelled")
}

func TestClosedReceiver(t *testing.T) {
	f := newFixture(t)
	path, r := f.filled(1, admin.QueueProperties{})
	f.must(r.Close(f.ctx))
	_, err := r.ReceiveMessages(f.ctx, 1, nil)
	f.refused(err, bus.CodeClosed)
	f.same(f.one(f.receiver(path)).DeliveryCount, first, "delivery count")
}

func TestManyInOneReceive(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(300, admin.QueueProperties{})
	got := f.take(r, 300)
	tokens := make(map[[16]byte]bool)
	for _, m := range got {
		tokens[m.LockToken] = true
	}
	f.same(len(tokens), 300, "lock tokens")
	f.complete(r, got[0])
	f.same(len(f.browse(r, 500)), 299, "peeked")
}

func TestPeek(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(10, admin.QueueProperties{})
	peek := func(count int, o *bus.PeekMessagesOptions) []*bus.ReceivedMessage {
		got, err := r.PeekMessages(f.ctx, count, o)
		f.must(err)
		return got
	}
	begin := peek(4, nil)
	f.same(bodies(begin), texts(4), "the first four")
	f.same([]any{begin[0].State, begin[0].LockedUntil}, []any{bus.MessageStateActive, (*time.Time)(nil)}, "state and lock")
	f.same(bodies(peek(100, nil)), from(4, 10), "the others")
	f.same(len(peek(100, nil)), 0, "behind the last")
	f.same(bodies(peek(2, &bus.PeekMessagesOptions{FromSequenceNumber: begin[2].SequenceNumber})), []string{"2", "3"}, "from the third")
	f.same(len(peek(2, &bus.PeekMessagesOptions{FromSequenceNumber: new(int64(1 << 62))})), 0, "from a number far behind")
	for _, m := range f.take(r, 10) {
		f.same(m.DeliveryCount, first, "delivery count")
	}
}

func TestPeekLockedAndDeferred(t *testing.T) {
	f := newFixture(t)
	_, r := f.filled(2, admin.QueueProperties{})
	got := f.take(r, 2)
	f.must(r.DeferMessage(f.ctx, got[1], nil))
	peeked := f.browse(r, 10)
	f.same(sequenceNumbers(peeked), sequenceNumbers(got), "numbers")
	f.same([]bus.MessageState{peeked[0].State, peeked[1].State},
		[]bus.MessageState{bus.MessageStateActive, bus.MessageStateDeferred}, "states")
}

func TestPeekLargeMessages(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	for range 6 {
		f.send(path, &bus.Message{Body: make([]byte, 400_000)})
	}
	r, found := f.receiver(path), 0
	for {
		got, err := r.PeekMessages(f.ctx, 10, nil)
		f.must(err)
		if len(got) == 0 {
			break
		}
		found += len(got)
	}
	f.same(found, 6, "messages")
}

func TestMissingQueue(t *testing.T) {
	f := newFixture(t)
	path := f.path()
	r := f.receiver(path)
	_, err := r.ReceiveMessages(f.ctx, 1, nil)
	f.failed(err, "amqp:not-found", "")
	_, err = r.PeekMessages(f.ctx, 1, nil)
	f.failed(err, "amqp:not-found", "")
	f.failed(f.sender(path).SendMessage(f.ctx, message("x"), nil), "amqp:not-found", "")
	_, err = f.client().AcceptSessionForQueue(f.ctx, path, "s", nil)
	f.failed(err, "amqp:not-found", "")
}
