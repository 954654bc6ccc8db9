package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func sendTo(t *testing.T, c *client.Client, name, group string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		clustertest.Must(t, clustertest.Err(c.Send(t.Context(), name, &client.Message{Body: body, GroupId: &group})))
	}
}

func bodiesOf(messages []*seriatimpb.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.GetBody())
	}
	return out
}

// A session works over several nodes, with all kinds of settlement, until its release.
func TestSession(t *testing.T) {
	c, _ := newClient(t, "n1", "n2", "n3")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "s", "a", "b", "c")
	s, err := c.AcceptNext(ctx, name, client.SessionOptions{LockSeconds: 60})
	if err != nil || s.ID() != "s" {
		t.Fatal(s, err)
	}
	if _, err := c.Accept(ctx, name, "s", client.SessionOptions{}); client.Reason(err) != "SessionCannotBeLocked" {
		t.Errorf("accepted twice: %v", err)
	}
	got, err := s.Receive(ctx, 10, 0)
	if err != nil || !slices.Equal(bodiesOf(got), []string{"a", "b", "c"}) {
		t.Fatal(bodiesOf(got), err)
	}
	if err := errors.Join(s.Complete(ctx, got[0].GetReceiptHandle()), s.Defer(ctx, got[1].GetReceiptHandle()),
		s.Abandon(ctx, got[2].GetReceiptHandle())); err != nil {
		t.Error(err)
	}
	deferred, err := s.ReceiveDeferred(ctx, got[1].GetSequenceNumber())
	if err != nil || !slices.Equal(bodiesOf(deferred), []string{"b"}) {
		t.Error(bodiesOf(deferred), err)
	}
	if again, err := s.Receive(ctx, 10, 0); err != nil || !slices.Equal(bodiesOf(again), []string{"c"}) {
		t.Error(bodiesOf(again), err)
	}
	if state, err := s.State(ctx); err != nil || state != nil {
		t.Errorf("never set: %q %v", state, err)
	}
	clustertest.Check(t, s.SetState(ctx, []byte("x")))
	if state, err := s.State(ctx); err != nil || string(state) != "x" {
		t.Errorf("set: %q %v", state, err)
	}
	clustertest.Check(t, errors.Join(s.Release(ctx), s.Release(ctx)))
	if _, err := s.Receive(ctx, 1, 0); client.Reason(err) != "SessionLockLost" {
		t.Errorf("after the release: %v", err)
	}
	if left, err := c.ReceiveAndDelete(ctx, name, 10, 0); err != nil || !slices.Equal(bodiesOf(left), []string{"c"}) {
		t.Errorf("left: %v %v", bodiesOf(left), err)
	}
}

// The lock is renewed; the end of a lock is reported.
func TestSessionRenewsItsLock(t *testing.T) {
	c, fronts := newClient(t, "n1")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	renewed := make(chan struct{}, 100)
	broken := func(cmd queue.Command) error {
		if _, ok := cmd.(*queue.RenewSession); ok {
			renewed <- struct{}{}
		}
		return nil
	}
	fronts[0].face.broken.Store(&broken)
	s, err := c.Accept(ctx, name, "s", client.SessionOptions{LockSeconds: 30})
	clustertest.Must(t, err)
	await(t, renewed)
	clustertest.Must(t, clustertest.Err(node.Submit(ctx, &queue.ReleaseGroup{Queue: name, Group: "s"})))
	await(t, s.Lost())
	clustertest.Check(t, s.Release(ctx))
}

func await(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("it does not come")
	}
}

// A settlement whose answer was lost is repeated once. If the repetition cannot prove what
// happened, the outcome is unknown, not a failure.
func TestSettlementWithALostAnswer(t *testing.T) {
	c, fronts := newClient(t, "n1")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "g", "a")
	got, err := c.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: name})
	clustertest.Must(t, err)
	lost := false
	broken := func(cmd queue.Command) error {
		if _, deletes := cmd.(*queue.DeleteMessages); deletes && !lost {
			lost = true
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	fronts[0].face.broken.Store(&broken)
	err = c.Complete(ctx, name, got.GetMessages()[0].GetReceiptHandle())
	var failure *client.FailureError
	if !errors.As(err, &failure) || failure.Code != codes.Unavailable || client.Reason(err) != "OutcomeUnknown" {
		t.Errorf("got %v", err)
	}
	err = c.Complete(context.WithoutCancel(ctx), name, got.GetMessages()[0].GetReceiptHandle())
	if client.Reason(err) != "MessageLockLost" {
		t.Errorf("made once: %v", err)
	}
}

// An acceptance and a receive whose answers were lost return the same session and messages when
// they are repeated, also at another node.
func TestLostAnswersOfASession(t *testing.T) {
	c, fronts := newClient(t, "n1", "n2")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "a", "1", "2", "3")
	sendTo(t, c, name, "b", "4")
	lost := map[string]int{}
	broken := func(cmd queue.Command) error {
		kind := ""
		switch cmd := cmd.(type) {
		case *queue.AcceptSession:
			kind = "accept next"
			if cmd.SessionIDGiven {
				kind = "accept"
			}
		case *queue.ReceiveMessages:
			kind = "receive"
		}
		if lost[kind]++; kind != "" && lost[kind] <= 2 {
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	for _, f := range fronts {
		f.face.broken.Store(&broken)
	}
	s, err := c.AcceptNext(ctx, name, client.SessionOptions{LockSeconds: 600})
	if err != nil || s.ID() != "a" {
		t.Fatal(s, err)
	}
	got, err := s.Receive(ctx, 2, 0)
	if err != nil || !slices.Equal(bodiesOf(got), []string{"1", "2"}) {
		t.Errorf("received %v %v", bodiesOf(got), err)
	}
	for _, m := range got {
		if m.GetReceiveCount() != 1 {
			t.Errorf("received %d times", m.GetReceiveCount())
		}
	}
	if rest, err := s.Receive(ctx, 10, 0); err != nil || !slices.Equal(bodiesOf(rest), []string{"3"}) {
		t.Errorf("then received %v %v", bodiesOf(rest), err)
	}
	other, err := c.Accept(ctx, name, "b", client.SessionOptions{LockSeconds: 600})
	clustertest.Must(t, err)
	if lost["accept next"] != 3 || lost["receive"] != 4 || lost["accept"] != 3 {
		t.Errorf("calls %v", lost)
	}
	clustertest.Check(t, errors.Join(s.Release(ctx), other.Release(ctx)))
}
