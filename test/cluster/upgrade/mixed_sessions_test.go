package upgrade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// newNative makes a client of the native API, which the test closes.
func newNative(s *site) *client.Client {
	s.t.Helper()
	var addresses []string
	for _, n := range s.Nodes {
		addresses = append(addresses, n.Client)
	}
	c, err := client.Dial(client.Options{RetryFor: 10 * time.Second}, addresses...)
	harness.Must(s.t, err)
	s.t.Cleanup(func() {
		harness.Check(s.t, c.Close())
	})
	return c
}

// workInSession schedules a message and accepts the next session with a message: it defers a
// message and receives it again, dead-letters another one, completes the rest, and sets a state.
func (l *load) workInSession(ctx context.Context, id string, i int) error {
	const queue = "work.fifo"
	group := fmt.Sprint("session-", i%5)
	now := &client.Message{Body: id, GroupId: &group}
	if _, err := l.native.Send(ctx, queue, now, now); err != nil {
		return err
	}
	later := &client.Message{Body: id, GroupId: &group}
	scheduled, err := l.native.Schedule(ctx, queue, time.Now().Add(time.Second), later, later)
	if err != nil {
		return err
	}
	if err := l.native.CancelScheduled(ctx, queue, false, scheduled[0].GetSequenceNumber()); err != nil {
		return err
	}
	session, err := l.native.AcceptNext(ctx, queue, client.SessionOptions{LockSeconds: 5, ManualRenewal: true, WaitSeconds: -1})
	if client.Reason(err) == "NoSessionAvailable" {
		return nil // the other workers have them all
	}
	if err != nil {
		return err
	}
	messages, err := session.Receive(ctx, 10, 0)
	for j, m := range messages {
		if err == nil {
			err = completeOne(ctx, session, m, i/8+j)
		}
	}
	return errors.Join(err, session.SetState(ctx, []byte(id)), session.Release(ctx))
}

// completeOne defers, dead-letters or completes a message.
func completeOne(ctx context.Context, session *client.Session, m *seriatimpb.Message, i int) error {
	switch i % 4 {
	case 0:
		return session.Defer(ctx, m.GetReceiptHandle())
	case 1:
		if err := session.Defer(ctx, m.GetReceiptHandle()); err != nil {
			return err
		}
		again, err := session.ReceiveDeferred(ctx, m.GetSequenceNumber())
		if err != nil || len(again) == 0 {
			return errors.Join(err, errNotThere)
		}
		return session.Complete(ctx, again[0].GetReceiptHandle())
	case 2:
		return session.DeadLetter(ctx, m.GetReceiptHandle(), "Broken", "the load says so")
	}
	return session.Complete(ctx, m.GetReceiptHandle())
}

var errNotThere = errors.New("a deferred message is not there")
