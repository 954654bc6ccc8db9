package unverified

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Turn is the permission to work on a request; it is reused for the next one. Its methods do nothing
// for a nil Turn and for a Turn without a Conn. Used by one goroutine at a time.
type Turn struct {
	conn   *Conn
	held   atomic.Bool // also changed by Yield
	passed bool        // the request was verified, or is permitted to callers without a key
	ready  chan struct{}
}

// Attach sets the connection of a new Turn, which may be nil.
func (t *Turn) Attach(c *Conn) { t.conn = c }

type turnKey struct{}

// With returns a context with a Turn.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From returns the Turn in a context, nil if there is none.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Begin waits for the turn of a request, unless the connection is trusted.
func (t *Turn) Begin() {
	if t == nil || t.conn == nil {
		return
	}
	t.passed = false
	if t.conn.trusted.Load() {
		return
	}
	t.conn.awaitRate()
	t.take()
}

// take waits for a turn at the back of the line.
func (t *Turn) take() {
	l := t.conn.limiter
	l.mu.Lock()
	if l.free > 0 && l.first == nil {
		l.free--
		t.hold()
		l.mu.Unlock()
	} else {
		if t.ready == nil {
			t.ready = make(chan struct{}, 1) // release sends once
		}
		l.enqueue(t)
		l.mu.Unlock()
		<-t.ready
	}
	runtime.Gosched() // other ready goroutines go first
}

// hold notes that the turn is held. It needs the mutex of the limiter.
func (t *Turn) hold() {
	c := t.conn
	t.held.Store(true)
	c.holding = append(c.holding, t)
	c.holds.Store(int32(len(c.holding))) //nolint:gosec // no more than processors
}

// Held reports whether the turn is held or not needed.
func (t *Turn) Held() bool { return t.conn == nil || t.conn.trusted.Load() || t.held.Load() }

// Release ends the turn, before the goroutine waits. It reports whether the turn was held.
func (t *Turn) Release() (held bool) {
	if t == nil || !t.held.Load() {
		return false
	}
	l := t.conn.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	held = t.held.Load()
	l.release(t)
	return held
}

// Resume waits for a new turn if one was held before.
func (t *Turn) Resume(held bool) {
	if held {
		t.take()
	}
}

// TakeOver takes over the turn that another one holds, for a request of the same connection.
func (t *Turn) TakeOver(from *Turn) {
	t.passed = false
	if !from.held.Load() {
		return
	}
	l := t.conn.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, held := range t.conn.holding {
		if held == from {
			t.conn.holding[i] = t
			from.held.Store(false)
			t.held.Store(true)
		}
	}
}

// Verified notes a verified signature: the request continues without a turn, and the connection is
// trusted.
func (t *Turn) Verified() {
	if t == nil || t.conn == nil {
		return
	}
	t.passed = true
	if !t.conn.trusted.Load() {
		t.conn.trusted.Store(true)
	}
	t.Release()
}

// Permitted notes a request that needs no signature. It continues without a turn.
func (t *Turn) Permitted() {
	if t == nil || t.conn == nil || t.passed {
		return
	}
	t.passed = true
	t.Release()
}

// End ends a request. Without Verified or Permitted it counts as refused.
func (t *Turn) End(size int64) {
	if t == nil || t.conn == nil {
		return
	}
	t.Release()
	if t.passed {
		return
	}
	t.conn.Refused(size)
}
