package client

import (
	"context"
	"time"
)

const (
	pauseMin = 10 * time.Millisecond // between two attempts
	pauseMax = time.Second
)

// retries bounds the time of attempts without progress. Used by one goroutine.
type retries struct {
	ctx    context.Context
	limit  time.Duration
	within context.Context // ends with the last attempt
	cancel context.CancelFunc
	pause  time.Duration
}

func newRetries(ctx context.Context, limit time.Duration) *retries {
	r := &retries{ctx: ctx, limit: limit, pause: pauseMin}
	r.within, r.cancel = context.WithTimeout(ctx, limit)
	return r
}

// progress restarts the time after a successful attempt.
func (r *retries) progress() {
	r.cancel()
	*r = *newRetries(r.ctx, r.limit)
}

// over reports whether the time is used up.
func (r *retries) over() bool { return r.within.Err() != nil }

// wait waits before the next attempt.
func (r *retries) wait() {
	timer := time.NewTimer(r.pause)
	defer timer.Stop()
	r.pause = min(2*r.pause, pauseMax)
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}
