package servicebus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// receives is a receiver of a queue, a subscription or a session.
type receives interface {
	ReceiveMessages(context.Context, int, *bus.ReceiveMessagesOptions) ([]*bus.ReceivedMessage, error)
	PeekMessages(context.Context, int, *bus.PeekMessagesOptions) ([]*bus.ReceivedMessage, error)
	ReceiveDeferredMessages(context.Context, []int64, *bus.ReceiveDeferredMessagesOptions) ([]*bus.ReceivedMessage, error)
	CompleteMessage(context.Context, *bus.ReceivedMessage, *bus.CompleteMessageOptions) error
	AbandonMessage(context.Context, *bus.ReceivedMessage, *bus.AbandonMessageOptions) error
	DeferMessage(context.Context, *bus.ReceivedMessage, *bus.DeferMessageOptions) error
	DeadLetterMessage(context.Context, *bus.ReceivedMessage, *bus.DeadLetterOptions) error
	Close(context.Context) error
}

// first is the delivery count of a message that comes for the first time. The SDK adds one.
const first = uint32(1)

// message returns a message with an id of its own.
func message(body string) *bus.Message {
	return &bus.Message{Body: []byte(body), MessageID: new(fmt.Sprintf("id-%d", numbers.Add(1)))}
}

// named returns a message with an id.
func named(body, id string) *bus.Message { return &bus.Message{Body: []byte(body), MessageID: &id} }

// of returns messages of a session.
func of(session string, bodies ...string) (all []*bus.Message) {
	for _, body := range bodies {
		m := message(body)
		m.SessionID = &session
		all = append(all, m)
	}
	return all
}

// texts returns the numbers from 0 on.
func texts(count int) []string { return from(0, count) }

func from(first, end int) (all []string) {
	for i := first; i < end; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// numbered returns messages with numbers as bodies.
func numbered(count int) (all []*bus.Message) {
	for _, text := range texts(count) {
		all = append(all, message(text))
	}
	return all
}

func bodies(messages []*bus.ReceivedMessage) (all []string) {
	for _, m := range messages {
		all = append(all, string(m.Body))
	}
	return all
}

// later returns a whole second in the future.
func later(d time.Duration) time.Time {
	return time.Now().Add(d + time.Second).Truncate(time.Second).UTC()
}

// receive receives up to a number of messages within a time.
func (f *fixture) receive(r receives, count int, wait time.Duration) []*bus.ReceivedMessage {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, wait)
	defer cancel()
	got, err := r.ReceiveMessages(ctx, count, nil)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		f.Fatal(err)
	}
	return got
}

// take receives a number of messages.
func (f *fixture) take(r receives, count int) (got []*bus.ReceivedMessage) {
	f.Helper()
	for end := time.Now().Add(idleTimeout); len(got) < count && time.Now().Before(end); {
		got = append(got, f.receive(r, count-len(got), 5*time.Second)...)
	}
	f.same(len(got), count, "messages received")
	return got
}

func (f *fixture) one(r receives) *bus.ReceivedMessage {
	f.Helper()
	return f.take(r, 1)[0]
}

func (f *fixture) nothing(r receives) {
	f.Helper()
	f.nothingFor(r, time.Second)
}

func (f *fixture) nothingFor(r receives, wait time.Duration) {
	f.Helper()
	f.same(bodies(f.receive(r, 10, wait)), []string(nil), "messages received")
}

// complete completes messages.
func (f *fixture) complete(r receives, messages ...*bus.ReceivedMessage) {
	f.Helper()
	for _, m := range messages {
		f.must(r.CompleteMessage(f.ctx, m, nil))
	}
}

// drain receives and completes messages of a queue, checks that no other comes, and returns them.
func (f *fixture) drain(path string, count int) []*bus.ReceivedMessage {
	f.Helper()
	return f.drainFrom(f.receiver(path), count)
}

func (f *fixture) drainFrom(r receives, count int) []*bus.ReceivedMessage {
	f.Helper()
	got := f.take(r, count)
	f.complete(r, got...)
	f.nothing(r)
	f.must(r.Close(f.ctx))
	return got
}

// browse peeks from the first message on.
func (f *fixture) browse(r receives, count int) []*bus.ReceivedMessage {
	f.Helper()
	got, err := r.PeekMessages(f.ctx, count, &bus.PeekMessagesOptions{FromSequenceNumber: new(int64(1))})
	f.must(err)
	return got
}

// empty checks that there is nothing to peek.
func (f *fixture) empty(r receives) {
	f.Helper()
	f.same(bodies(f.browse(r, 10)), []string(nil), "peeked")
}

// deferred receives deferred messages.
func (f *fixture) deferred(r receives, of ...*bus.ReceivedMessage) []*bus.ReceivedMessage {
	f.Helper()
	got, err := r.ReceiveDeferredMessages(f.ctx, sequenceNumbers(of), nil)
	f.must(err)
	f.same(len(got), len(of), "deferred messages")
	return got
}

func sequenceNumbers(of []*bus.ReceivedMessage) (all []int64) {
	for _, m := range of {
		all = append(all, *m.SequenceNumber)
	}
	return all
}

// again returns a received message as it was sent. The SDK turns no time to live into zero.
func again(got *bus.ReceivedMessage) *bus.Message {
	m := got.Message()
	if m.TimeToLive != nil && *m.TimeToLive == 0 {
		m.TimeToLive = nil
	}
	return m
}

// text returns the value of a pointer, or "" for nil.
func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
