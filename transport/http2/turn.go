package http2

import (
	"errors"
	"time"
)

const (
	// aloneMin is after how many requests that had their connection to themselves the next
	// one is expected to have it, too.
	aloneMin = 16
	// lookEvery is how often such a request is served elsewhere all the same: what comes
	// meanwhile shows that there is more than one caller, who would wait for each other.
	lookEvery = 32
	// passAfter is how long the handler of such a request may take before frames are
	// read beside it: most are done before, also where the processors are busy.
	passAfter = 50 * time.Millisecond
)

// errPassed ends the reading of a goroutine when another reads on.
var errPassed = errors.New("another goroutine reads")

// mayServe reports whether the goroutine that reads may call the waiting handler. Waking
// another goroutine for each request costs as much as serving it. So the reader serves a
// request itself if it expects nothing else on the connection; if that takes long, or waits
// for the client, another goroutine continues to read.
func (c *conn) mayServe() bool {
	if c.waiting == nil || c.alone < aloneMin || c.alone%lookEvery == 0 || c.reader.Buffered() > 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.body.ended && c.waiting.lost == nil && c.streams.running == 0
}

// serveHere calls the handler that waits. It reports false if another goroutine reads the
// frames of the connection now.
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
	timer := c.timer // which the next reader may use already when the handler returns
	c.handle(st)
	if !c.serving.CompareAndSwap(true, false) {
		st.cancel()
		return false
	}
	timer.Stop()
	c.keep(st)
	return true
}

// pass has another goroutine read if the one that did calls a handler.
func (c *conn) pass() {
	if c.serving.CompareAndSwap(true, false) {
		c.server.start(job{reads: c})
	}
}
