// Package wakeup notifies goroutines: a Signal wakes one worker, a Broadcast wakes all that wait
// for a change, and Sleep ends with a context.
package wakeup

import (
	"context"
	"sync"
	"time"
)

// Signal tells one goroutine that there may be work. It holds one token, which stands for all
// notifications until the goroutine receives it, so none is lost. Made by NewSignal.
type Signal chan struct{}

// NewSignal returns a Signal without a token.
func NewSignal() Signal { return make(Signal, 1) }

// Notify leaves a token unless one is there. It never blocks.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Broadcast reports a change to all waiting goroutines. The zero value is ready. Safe for
// concurrent use; do not copy it.
type Broadcast struct {
	mu      sync.Mutex
	changed chan struct{} // nil: no goroutine waits
}

// Changed returns a channel that the next Notify closes. To miss no change, call it before you read
// the state that may change.
func (b *Broadcast) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Notify closes the channels of Changed. It never blocks.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// Sleep waits for a time. It reports false if ctx ended first.
func Sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
