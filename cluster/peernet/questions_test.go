package peernet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A question reaches the node with the name of who asks, and its answer comes
// back. A node that is not there was not asked; one that closes the connection may
// have seen the question.
func TestQuestionIsAnswered(t *testing.T) {
	a, b := newTestNetwork(t, "a-1", "c"), newTestNetwork(t, "b-2", "c")
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	served, sent := make(chan struct{}), make(chan int, 1)
	go func() {
		defer close(served)
		Answering[int, string]{
			AtOnce:  1,
			Arrival: time.Minute,
			Answer: func(_ context.Context, from string, question int) (string, func()) {
				return from + " asks", func() { sent <- question }
			},
		}.Serve(ctx, b.Listener(KindMembership, 0))
	}()
	if _, err := Ask[string](ctx, a, "b-2", KindMembership, 0, 7); !errors.Is(err, ErrNotAsked) {
		t.Errorf("a node without an address: %v", err)
	}
	a.book.Note("b-2", b.BoundAddr(), 1)
	for range 3 { // one slot serves them all
		if answer, err := Ask[string](ctx, a, "b-2", KindMembership, 0, 7); err != nil || answer != "a-1 asks" {
			t.Errorf("got %q, %v", answer, err)
		}
		if question := <-sent; question != 7 {
			t.Errorf("the answer to %d was sent", question)
		}
	}
	if _, err := Ask[string](ctx, a, "b-2", KindMembership, 0, "no number"); err == nil || errors.Is(err, ErrNotAsked) {
		t.Errorf("a question nobody can read: %v", err)
	}
	cancel()
	<-served
}
