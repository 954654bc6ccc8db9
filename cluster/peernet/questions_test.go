package peernet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A question reaches the node with the id of the sender, and its answer returns. ErrNotAsked
// reports a node without a connection; a node that closes the connection may have seen the
// question.
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

// answering serves questions at one node and returns a function that asks from another.
func answering(t *testing.T, a Answering[string, string]) (ask func(question string) (string, error)) {
	t.Helper()
	asking, asked := newTestNetwork(t, "a-1", "c"), newTestNetwork(t, "b-2", "c")
	asking.book.Note("b-2", asked.BoundAddr(), 1)
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	served := make(chan struct{})
	go func() {
		defer close(served)
		a.Serve(ctx, asked.Listener(KindMembership, 0))
	}()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	return func(question string) (string, error) {
		return Ask[string](clustertest.Context(t), asking, "b-2", KindMembership, 0, question)
	}
}

// A starting node closes the connections of questions that it cannot answer yet.
func TestQuestionBeforeItCanBeAnswered(t *testing.T) {
	ask := answering(t, Answering[string, string]{
		AtOnce: 1, Arrival: time.Minute,
		Answerable: func(question string) bool { return question == "known" },
		Answer: func(_ context.Context, _, question string) (string, func()) {
			return question, func() {
				if question != "known" {
					t.Errorf("something is done about %q", question)
				}
			}
		},
	})
	if answer, err := ask("unknown"); err == nil {
		t.Errorf("the answer %q", answer)
	}
	if answer, err := ask("known"); err != nil || answer != "known" {
		t.Errorf("the answer %q, %v", answer, err)
	}
}

// With CloseExcess, connections above AtOnce are closed.
func TestExcessQuestionIsClosed(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	ask := answering(t, Answering[string, string]{
		AtOnce: 1, CloseExcess: true, Arrival: time.Minute,
		Answer: func(context.Context, string, string) (string, func()) {
			held <- struct{}{}
			<-release
			return "", nil
		},
	})
	first := make(chan error, 1)
	go func() {
		_, err := ask("first")
		first <- err
	}()
	<-held
	if _, err := ask("second"); err == nil {
		t.Error("a second question is answered")
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the first question: %v", err)
	}
}

// An answer that exceeds Within is not sent. The function after the answer is not bounded.
func TestAnswerThatTakesTooLong(t *testing.T) {
	done := make(chan struct{})
	ask := answering(t, Answering[string, string]{
		AtOnce: 1, Arrival: time.Minute, Within: time.Millisecond,
		Answer: func(ctx context.Context, _, _ string) (string, func()) {
			<-ctx.Done()
			return "late", func() { close(done) }
		},
	})
	if answer, err := ask("anything"); err == nil {
		t.Errorf("the answer %q", answer)
	}
	<-done
}
