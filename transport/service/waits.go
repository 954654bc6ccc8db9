package service

import (
	"context"
	"sync/atomic"
)

// Waits bounds the time in which calls may wait, as long polls do: from NewWaits until Drain, and
// from Undrain until the next Drain. Safe for concurrent use.
type Waits struct{ scope atomic.Pointer[waitScope] }

// waitScope is the time until one Drain.
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

// Context returns a context that ends when a call that begins to wait now must stop waiting.
func (w *Waits) Context() context.Context { return w.scope.Load().ctx }

// Drain ends all present and future waits. It returns at once.
func (w *Waits) Drain() { w.scope.Load().drain() }

// Undrain lets calls wait again, until the end of ctx or the next Drain.
func (w *Waits) Undrain(ctx context.Context) {
	scope := &waitScope{}
	scope.ctx, scope.drain = context.WithCancel(ctx)
	if before := w.scope.Swap(scope); before != nil {
		before.drain()
	}
}
