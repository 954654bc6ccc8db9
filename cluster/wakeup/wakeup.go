// Package wakeup has three ways in which goroutines wake each other: a Signal for one worker, a
// Broadcast for all that wait for a change, and a Sleep that a context can end.
package wakeup

import (
	"context"
	"sync"
	"time"
)

// Signal tells one goroutine that there may be work. It holds one token, which
// stands for all notifications that follow until the goroutine receives it; so
// that Notify never blocks and nothing is missed. Made by NewSignal.
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

// Broadcast tells all who wait that something changed. The zero value is ready.
// Safe for concurrent use; not to be copied.
type Broadcast struct {
	mu      sync.Mutex
	changed chan struct{} // nil while nobody waits
}

// Changed returns a channel that the next Notify closes. To miss no change, take
// it before looking at what may change.
func (b *Broadcast) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Notify wakes all who hold a channel of Changed. It never blocks.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// Sleep waits for a time, and reports false if ctx ended first.
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
