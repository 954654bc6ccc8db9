package cluster

import (
	"context"
	"sync"
)

// rounds shares the cost of a question among all who ask it: while one round
// is under way, newcomers gather for the next. A caller is never answered by a
// round that began before it asked. Safe for concurrent use.
type rounds[T any] struct {
	ask  func(context.Context) (T, error)
	lost error // what is answered after run has ended

	mu      sync.Mutex
	waiting []func(T, error)
	ended   bool
	wake    chan struct{} // capacity 1: a token says that waiting is not empty
}

func newRounds[T any](ask func(context.Context) (T, error), lost error) *rounds[T] {
	return &rounds[T]{ask: ask, lost: lost, wake: make(chan struct{}, 1)}
}

// run answers until ctx ends.
func (r *rounds[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			r.end()
			return
		case <-r.wake:
		}
		r.mu.Lock()
		asking := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		if len(asking) == 0 {
			continue
		}
		answer, err := r.ask(ctx)
		for _, settle := range asking {
			settle(answer, err)
		}
	}
}

// end answers all who wait, and all who come later, with lost.
func (r *rounds[T]) end() {
	r.mu.Lock()
	asking := r.waiting
	r.waiting, r.ended = nil, true
	r.mu.Unlock()
	var none T
	for _, settle := range asking {
		settle(none, r.lost)
	}
}

// join asks; settle is called exactly once, maybe before join returns, and
// must not block.
func (r *rounds[T]) join(settle func(T, error)) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		var none T
		settle(none, r.lost)
		return
	}
	r.waiting = append(r.waiting, settle)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// wait asks and waits for the answer.
func (r *rounds[T]) wait(ctx context.Context) (T, error) {
	type reply struct {
		answer T
		err    error
	}
	done := make(chan reply, 1) // one answer, never blocking the round
	r.join(func(answer T, err error) { done <- reply{answer, err} })
	select {
	case got := <-done:
		return got.answer, got.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
