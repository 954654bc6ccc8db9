package leader

import (
	"context"
	"sync"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// sharedCall shares one call among all callers that arrive while the previous call is in progress.
// A caller never gets the result of a call that began before it arrived. Safe for concurrent use.
type sharedCall[T any] struct {
	call func(context.Context) (T, error)
	lost error // returned to callers after run has ended

	mu      sync.Mutex
	waiting []func(T, error)
	ended   bool
	asked   wakeup.Signal // notified when waiting has an element
}

func newSharedCall[T any](call func(context.Context) (T, error), lost error) *sharedCall[T] {
	return &sharedCall[T]{call: call, lost: lost, asked: wakeup.NewSignal()}
}

// run makes calls until ctx ends.
func (c *sharedCall[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			c.end()
			return
		case <-c.asked:
		}
		c.mu.Lock()
		asking := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		if len(asking) == 0 {
			continue
		}
		answer, err := c.call(ctx)
		for _, complete := range asking {
			complete(answer, err)
		}
	}
}

// end completes all present and later callers with lost.
func (c *sharedCall[T]) end() {
	c.mu.Lock()
	asking := c.waiting
	c.waiting, c.ended = nil, true
	c.mu.Unlock()
	var none T
	for _, complete := range asking {
		complete(none, c.lost)
	}
}

// ask calls complete with the result exactly once, possibly before it returns; complete must not
// block.
func (c *sharedCall[T]) ask(complete func(T, error)) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		var none T
		complete(none, c.lost)
		return
	}
	c.waiting = append(c.waiting, complete)
	c.mu.Unlock()
	c.asked.Notify()
}

// wait returns the result.
func (c *sharedCall[T]) wait(ctx context.Context) (T, error) {
	type reply struct {
		answer T
		err    error
	}
	done := make(chan reply, 1) // one answer, never blocking run
	c.ask(func(answer T, err error) { done <- reply{answer, err} })
	select {
	case got := <-done:
		return got.answer, got.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
