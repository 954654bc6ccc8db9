package transport

import (
	"context"
	"sync/atomic"
)

// Waits is the time in which requests may wait for something to happen, as long
// polls do: from its making until Drain, and again from Undrain on. Safe for
// concurrent use.
type Waits struct{ scope atomic.Pointer[waitScope] }

// waitScope is the time between two calls of Drain.
type waitScope struct {
	ctx   context.Context
	drain context.CancelFunc
}

// NewWaits returns Waits that also end with ctx.
func NewWaits(ctx context.Context) *Waits {
	w := &Waits{}
	w.Undrain(ctx)
	return w
}

// Context ends when the waiting has to. Requests take it when they begin to wait.
func (w *Waits) Context() context.Context { return w.scope.Load().ctx }

// Drain ends all waiting, present and future. It returns at once.
func (w *Waits) Drain() { w.scope.Load().drain() }

// Undrain lets requests wait again, until the end of ctx or the next Drain.
func (w *Waits) Undrain(ctx context.Context) {
	scope := &waitScope{}
	scope.ctx, scope.drain = context.WithCancel(ctx)
	if before := w.scope.Swap(scope); before != nil {
		before.drain()
	}
}
