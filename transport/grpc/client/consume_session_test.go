package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// A handler gets the messages of a session in order, and the next one only after it has succeeded,
// although messages arrive meanwhile, streams break, and answers to receives and settlements are
// lost.
func TestSessionConsume(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	name := create(t, c, ".fifo")
	const total = 120
	sendTo(t, c, name, "s", "000")
	sendTo(t, c, name, "other", "x")
	var answers atomic.Int64
	losing := func(cmd queue.Command) error {
		switch cmd.(type) {
		case *queue.ReceiveMessages, *queue.DeleteMessages, *queue.ChangeMessageVisibility:
			if answers.Add(1)%7 == 0 {
				return cluster.ErrOutcomeUnknown
			}
		}
		return nil
	}
	s, err := c.Accept(t.Context(), name, "s", client.SessionOptions{LockSeconds: 600})
	clustertest.Must(t, err)
	for _, f := range fronts {
		f.face.broken.Store(&losing)
	}
	sent := make(chan error, 1)
	go func() {
		for i := 1; i < total; i++ {
			group := "s"
			if _, err := c.Send(t.Context(), name, &client.Message{Body: fmt.Sprintf("%03d", i), GroupId: &group}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, failed := 0, -1 // one handler runs at a time
	err = s.Consume(ctx, client.ConsumeOptions{
		Credit:     20,
		NotSettled: func(m *client.Delivery, err error) { t.Errorf("%s: %v", m.GetBody(), err) },
	}, func(_ context.Context, m *client.Delivery) error {
		if want := fmt.Sprintf("%03d", next); m.GetBody() != want {
			t.Errorf("handled %s, next is %s", m.GetBody(), want)
			cancel()
			return nil
		}
		if next%5 == 2 && failed != next {
			failed = next
			return errors.New("not now")
		}
		if next++; next%20 == 0 { // drains the two nodes in turn
			at := next / 20 % 2
			fronts[at].server.Drain()
			fronts[1-at].server.Undrain(t.Context())
		}
		if next == total {
			cancel()
		}
		return nil
	})
	if err != nil || next != total {
		t.Errorf("%d were handled: %v", next, err)
	}
	clustertest.Check(t, <-sent)
	none := func(queue.Command) error { return nil }
	for _, f := range fronts {
		f.face.broken.Store(&none)
		f.server.Undrain(t.Context())
	}
	if left, err := s.Receive(t.Context(), 10, 0); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", bodiesOf(left), err)
	}
	clustertest.Check(t, s.Release(t.Context()))
	if got := receive(t, c, name); !slices.Equal(bodies(got), []string{"x"}) {
		t.Errorf("outside of the session: %v", bodies(got))
	}
}

// Consume and its handler end when the lock of the session is lost.
func TestSessionConsumeLost(t *testing.T) {
	c, _ := newClient(t, "n1")
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "s", "a", "b")
	s, err := c.AcceptNext(t.Context(), name, client.SessionOptions{LockSeconds: 3})
	clustertest.Must(t, err)
	err = s.Consume(t.Context(), client.ConsumeOptions{}, func(ctx context.Context, m *client.Delivery) error {
		if m.GetBody() != "a" {
			t.Errorf("handled %s", m.GetBody())
		}
		clustertest.Check(t, clustertest.Err(node.Submit(ctx, &queue.ReleaseGroup{Queue: name, Group: "s"})))
		await(t, ctx.Done())
		return nil
	})
	if client.Reason(err) != "SessionLockLost" {
		t.Errorf("%v", err)
	}
	clustertest.Check(t, s.Release(t.Context()))
	if got := receive(t, c, name); !slices.Equal(bodies(got), []string{"a", "b"}) {
		t.Errorf("afterwards: %v", bodies(got))
	}
}
