package client

import (
	"context"
	"time"
)

const (
	pauseMin = 10 * time.Millisecond // between two attempts
	pauseMax = time.Second
)

// retries bounds how long something is tried without getting anywhere. Used by
// one goroutine.
type retries struct {
	ctx    context.Context
	limit  time.Duration
	within context.Context // ends when there is to be no other attempt
	cancel context.CancelFunc
	pause  time.Duration
}

func newRetries(ctx context.Context, limit time.Duration) *retries {
	r := &retries{ctx: ctx, limit: limit, pause: pauseMin}
	r.within, r.cancel = context.WithTimeout(ctx, limit)
	return r
}

// progress says that an attempt got somewhere.
func (r *retries) progress() {
	r.cancel()
	*r = *newRetries(r.ctx, r.limit)
}

// over reports whether there is to be no other attempt.
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
