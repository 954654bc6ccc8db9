// Package budget bounds the memory that clients can make a node hold. All connections of a port
// share one account of [Bytes]. When it is used up, callers wait in order, for a bounded time
// and in bounded numbers, then fail with [ErrExhausted].
package budget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// WaitMax bounds the wait of one request or answer for room.
const WaitMax = 5 * time.Second

// ErrExhausted means that the account has no room for a request or an answer. A retry may succeed.
var ErrExhausted = errors.New("the memory for requests and answers is used up")

// Bytes is an account of bytes with a limit. A nil *Bytes has no limit. Safe for concurrent use.
type Bytes struct {
	limit   int64
	used    atomic.Int64 // written under mu
	refused atomic.Uint64

	mu      sync.Mutex
	waiting []*waiter // in order of arrival
	queued  int64     // bytes requested by waiting
}

// waiter is one call of Acquire that waits.
type waiter struct {
	n       int64
	granted chan struct{} // closed under mu when the bytes are acquired
}

// New returns an account with a limit.
func New(limit int64) *Bytes { return &Bytes{limit: limit} }

// Acquire takes n bytes, which the caller must release. Without room, callers wait in order. All waiting
// callers together may request at most half of the limit, because some of them hold the bytes already.
// Acquire fails with ErrExhausted, or with the error of ctx.
func (b *Bytes) Acquire(ctx context.Context, n int64, wait time.Duration) error {
	if b == nil || n <= 0 {
		return nil
	}
	b.mu.Lock()
	if len(b.waiting) == 0 && b.used.Load()+n <= b.limit {
		b.used.Add(n)
		b.mu.Unlock()
		return nil
	}
	if n > b.limit || b.queued+n > b.limit/2 || wait <= 0 {
		b.mu.Unlock()
		b.refused.Add(1)
		return ErrExhausted
	}
	w := &waiter{n: n, granted: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.queued += n
	b.mu.Unlock()
	return b.wait(ctx, w, wait)
}

func (b *Bytes) wait(ctx context.Context, w *waiter, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	err := ErrExhausted
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.waiting {
		if b.waiting[i] == w {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.queued -= w.n
			b.grant() // a large request at the front held back smaller ones
			b.refused.Add(1)
			return err
		}
	}
	return nil // granted meanwhile
}

// Release returns n bytes.
func (b *Bytes) Release(n int64) {
	if b == nil || n <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.Add(-n)
	b.grant()
}

// grant serves waiting callers while there is room. It needs the mutex.
func (b *Bytes) grant() {
	for len(b.waiting) > 0 && b.used.Load()+b.waiting[0].n <= b.limit {
		w := b.waiting[0]
		b.waiting[0] = nil
		b.waiting = b.waiting[1:]
		b.queued -= w.n
		b.used.Add(w.n)
		close(w.granted)
	}
}

// Scarce reports whether more than half is used. Then callers drop caches, and slow clients get less
// time.
func (b *Bytes) Scarce() bool { return b != nil && b.used.Load() > b.limit/2 }

// Usage describes an account.
type Usage struct {
	Limit, Used int64
	Refused     uint64 // calls of Acquire that failed
}

// Usage returns the counts.
func (b *Bytes) Usage() Usage {
	if b == nil {
		return Usage{}
	}
	return Usage{Limit: b.limit, Used: b.used.Load(), Refused: b.refused.Load()}
}
