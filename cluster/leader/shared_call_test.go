package leader

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

func TestSharedCallIsShared(t *testing.T) {
	begun, release := make(chan int, 16), make(chan struct{})
	calls := 0
	r := newSharedCall(func(context.Context) (int, error) {
		calls++
		begun <- calls
		<-release
		return calls, nil
	}, fault.ErrNotLeader)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx) })
	defer running.Wait()
	defer cancel()

	answers := make(chan int, 128)
	complete := func(n int, err error) {
		if err != nil {
			t.Errorf("a call failed: %v", err)
		}
		answers <- n
	}
	r.ask(complete)
	<-begun
	// Callers never get the result of a call that began before they asked.
	for range 100 {
		r.ask(complete)
	}
	release <- struct{}{}
	if n := <-answers; n != 1 {
		t.Fatalf("the first was answered by call %d", n)
	}
	<-begun
	release <- struct{}{}
	for range 100 {
		if n := <-answers; n != 2 {
			t.Fatalf("a newcomer was answered by call %d, want the next one", n)
		}
	}
	if len(begun) != 0 {
		t.Fatal("more calls than needed")
	}
}

func TestSharedCallEnds(t *testing.T) {
	r := newSharedCall(func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}, fault.ErrNotLeader)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	complete := func(_ int, err error) { errs <- err }
	r.ask(complete)
	var running sync.WaitGroup
	running.Go(func() { r.run(ctx) })
	cancel()
	running.Wait()
	if err := <-errs; err == nil {
		t.Fatal("a call without an answer succeeded")
	}
	r.ask(complete)
	if err := <-errs; !errors.Is(err, fault.ErrNotLeader) {
		t.Fatalf("after the end: %v, want ErrNotLeader", err)
	}
	if _, err := r.wait(t.Context()); !errors.Is(err, fault.ErrNotLeader) {
		t.Fatalf("after the end: %v, want ErrNotLeader", err)
	}
}

func TestSharedCallWaitEndsWithItsContext(t *testing.T) {
	r := newSharedCall(func(context.Context) (int, error) { return 1, nil }, fault.ErrNotLeader) // never run
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}
