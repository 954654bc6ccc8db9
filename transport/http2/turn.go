package http2

import (
	"errors"
	"time"
)

const (
	// aloneMin is the number of consecutive requests without a concurrent one after which the reader
	// expects another one.
	aloneMin = 16
	// checkEvery makes a worker serve one of so many such requests, while the reader finds out whether
	// the connection has several callers, which would wait for each other.
	checkEvery = 32
	// passAfter bounds the time of a handler in the reading goroutine. Then another goroutine reads.
	passAfter = 50 * time.Millisecond
)

// errPassed ends the reading of a goroutine when another one reads.
var errPassed = errors.New("another goroutine reads")

// mayServe reports whether the reading goroutine may call the waiting handler. Waking another
// goroutine costs as much as serving a request. So the reader serves it if it expects no other input.
// If the handler takes long, or waits for the client, another goroutine continues to read.
func (c *conn) mayServe() bool {
	if c.waiting == nil || c.alone < aloneMin || c.alone%checkEvery == 0 || c.reader.Buffered() > 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.body.ended && c.waiting.lost == nil && c.streams.running == 0
}

// serveHere calls the waiting handler. It reports false if another goroutine reads now.
func (c *conn) serveHere() bool {
	st := c.waiting
	c.waiting = nil
	c.frames.hold()
	c.mu.Lock()
	c.run(st)
	c.mu.Unlock()
	c.streams.handlers.Add(1)
	c.serving.Store(true)
	if c.timer == nil {
		c.timer = time.AfterFunc(passAfter, c.pass)
	} else {
		c.timer.Reset(passAfter)
	}
	timer := c.timer // the next reader may use c.timer when the handler returns
	c.handle(st)
	if !c.serving.CompareAndSwap(true, false) {
		st.cancel()
		return false
	}
	timer.Stop()
	c.keep(st)
	return true
}

// pass makes another goroutine read if the reading one calls a handler.
func (c *conn) pass() {
	if c.serving.CompareAndSwap(true, false) {
		c.server.start(job{reads: c})
	}
}
