package leader

import (
	"context"
	"sync"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// sharedCall shares one call among all callers that ask for its result while the one
// before is under way. A caller never gets the result of a call that began before it
// asked. Safe for concurrent use.
type sharedCall[T any] struct {
	call func(context.Context) (T, error)
	lost error // what is answered after run has ended

	mu      sync.Mutex
	waiting []func(T, error)
	ended   bool
	asked   wakeup.Signal // that waiting is not empty
}

func newSharedCall[T any](call func(context.Context) (T, error), lost error) *sharedCall[T] {
	return &sharedCall[T]{call: call, lost: lost, asked: wakeup.NewSignal()}
}

// run answers until ctx ends.
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

// end answers all callers, also later ones, with lost.
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

// ask asks for the result; complete is called exactly once, maybe before ask
// returns, and must not block.
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

// wait asks for the result and waits for it.
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
