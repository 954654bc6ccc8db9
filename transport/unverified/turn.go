package unverified

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Turn is the permission to work on one request after the other. Its methods do nothing for a nil
// Turn, or one of no Conn. Used by one goroutine at a time.
type Turn struct {
	conn   *Conn
	held   atomic.Bool // also changed by Yield
	passed bool        // the request was verified, or is permitted to callers without a key
	ready  chan struct{}
}

// Attach makes a new Turn one of a connection, which may be nil.
func (t *Turn) Attach(c *Conn) { t.conn = c }

type turnKey struct{}

// With is a context that carries a Turn.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From is the Turn of a request's context, nil if there is none.
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
			t.ready = make(chan struct{}, 1) // the one turn that release gives
		}
		l.enqueue(t)
		l.mu.Unlock()
		<-t.ready
	}
	runtime.Gosched() // whatever else is ready goes first
}

// hold notes that the turn is held. It needs the mutex of the limiter.
func (t *Turn) hold() {
	c := t.conn
	t.held.Store(true)
	c.holding = append(c.holding, t)
	c.holds.Store(int32(len(c.holding))) //nolint:gosec // no more than processors
}

// Held reports whether the turn has begun and not ended, or need not begin.
func (t *Turn) Held() bool { return t.conn == nil || t.conn.trusted.Load() || t.held.Load() }

// Release ends the turn before something that waits, if it is held, which it reports.
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

// Resume waits for another turn if one was held before.
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

// Verified says that the signature of the request is verified: it goes on without a turn, and the
// connection is trusted.
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

// Permitted says that the request may be served without a signature. It goes on without a turn.
func (t *Turn) Permitted() {
	if t == nil || t.conn == nil || t.passed {
		return
	}
	t.passed = true
	t.Release()
}

// End ends a request of this size. One that was neither verified nor permitted was refused.
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
