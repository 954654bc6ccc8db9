package http2

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/unverified"
)

// streams holds the streams of a connection.
type streams struct {
	open          map[uint32]*stream
	last          uint32    // the highest stream id so far
	ended         time.Time // since then no stream is open
	over          int       // open streams that have ended for the client
	running       int       // handlers, also of lost streams
	kept          []*stream // finished, for reuse
	handlers      sync.WaitGroup
	initialWindow int64  // window of a new stream
	share         *share // of the host of the connection
}

// stream is one request with its answer. The first part does not change, the mutex of the
// connection guards the second, and the goroutine of the handler owns the third.
type stream struct {
	conn   *conn
	id     uint32
	cancel context.CancelFunc
	turn   unverified.Turn // of the request

	changed    sync.Cond // a field below has changed
	body       body
	credit     credit
	window     int64     // bytes that may be sent
	readUntil  time.Time // zero: no limit
	writeUntil time.Time // zero: limits.WriteLimit of each write
	lost       error     // the client does not read the answer
	over       bool      // the end of the answer was sent
	running    bool      // its handler runs and counts in streams.running

	blank   *http.Request // the common fields of all requests of the stream
	request *http.Request
	url     url.URL
	values  []string // of the request's header
	answer  answer
}

// body is the received part of a request body. The mutex of the connection guards it.
type body struct {
	unread   []byte
	start    int   // of the unread bytes
	arrived  int64 // bytes in total
	declared int64 // length, below zero if unknown
	ended    bool  // the body is complete
	closed   bool  // the handler reads no more
	expected bool  // the client waits for status 100
}

// add adds received bytes.
func (b *body) add(data []byte) {
	b.arrived += int64(len(data))
	if b.closed {
		return
	}
	if b.start > len(b.unread)/2 {
		b.unread, b.start = b.unread[:copy(b.unread, b.unread[b.start:])], 0
	}
	b.unread = append(b.unread, data...)
}

// wrong reports whether the length differs from the declared one.
func (b *body) wrong() bool {
	return b.declared >= 0 && (b.arrived > b.declared || b.ended && b.arrived < b.declared)
}

// credit counts the bytes that a client may send, and those read since the last window update.
type credit struct{ left, owed int64 }

// take uses n bytes. It reports false if the credit is exceeded.
func (k *credit) take(n int64) bool {
	k.left -= n
	return k.left >= 0
}

// release adds n bytes, and returns the window update to send, 0 for none yet.
func (k *credit) release(n, window int64) int64 {
	if k.owed += n; k.owed < window/2 {
		return 0
	}
	n, k.owed = k.owed, 0
	k.left += n
	return n
}

// giveBack lets the client send n more bytes on the connection, and on the stream unless it is nil.
// It needs the mutex; the caller flushes.
func (c *conn) giveBack(st *stream, n int64) {
	if more := c.credit.release(n, windowOfConn); more > 0 {
		c.output.queued = appendWindowUpdate(c.output.queued, 0, more)
	}
	if st == nil || st.body.ended || st.lost != nil {
		return
	}
	if more := st.credit.release(n, windowOfStream); more > 0 {
		c.output.queued = appendWindowUpdate(c.output.queued, st.id, more)
	}
}

// lose ends a stream whose answer the client will not read. It needs the mutex.
func (c *conn) lose(st *stream, err error) {
	if st.lost != nil {
		return
	}
	st.lost = err
	st.cancel()
	st.changed.Broadcast()
	c.remove(st)
}

// remove removes a finished stream. It needs the mutex; the caller flushes.
func (c *conn) remove(st *stream) {
	if c.streams.open[st.id] != st {
		return
	}
	delete(c.streams.open, st.id)
	if st.over {
		c.streams.over--
	}
	c.giveBack(nil, int64(len(st.body.unread)-st.body.start))
	st.body.unread, st.body.start = st.body.unread[:0], 0
	if len(c.streams.open) > 0 {
		return
	}
	c.streams.ended = c.server.Now()
	if c.ending.announced || c.server.closes.Load() {
		c.announceEnd(c.streams.ended)
	}
}

// reset ends a stream with an error. It needs the mutex; the caller flushes.
func (c *conn) reset(id uint32, code frame.ErrCode) {
	c.output.queued = appendReset(c.output.queued, id, code)
	if st := c.streams.open[id]; st != nil {
		c.lose(st, context.Canceled)
	}
}

// startWaiting starts the waiting handler, if any.
func (c *conn) startWaiting() {
	st := c.waiting
	if st == nil {
		return
	}
	c.waiting = nil
	c.frames.hold()
	c.mu.Lock()
	lost := st.lost != nil
	if !lost {
		c.run(st)
	}
	c.mu.Unlock()
	if lost {
		return
	}
	c.streams.handlers.Add(1)
	c.server.start(job{handles: st})
}

// run counts the handler of a stream that is about to start. It needs the mutex.
func (c *conn) run(st *stream) {
	st.turn.TakeOver(&c.frames.turn)
	st.running = true
	c.streams.running++
	c.server.load.add(c.streams.share, 1)
}

// ran stops counting a handler. It needs the mutex.
func (c *conn) ran(st *stream) {
	st.running = false
	c.streams.running--
	c.server.load.add(c.streams.share, -1)
}

// conclude ends a stream for the client, which may open another one as soon as it has read the
// answer. A handler that waits for the client to read still counts. It needs the mutex; the caller
// flushes.
func (c *conn) conclude(st *stream) {
	if !st.body.ended { // the answer does not depend on the rest of the request
		c.output.queued = appendReset(c.output.queued, st.id, frame.ErrCodeNo)
	}
	st.over, st.body.closed = true, true
	c.streams.over++
	if len(c.output.queued) <= outputMax {
		c.ran(st)
	}
}

// handle calls the handler and sends the rest of its answer.
func (c *conn) handle(st *stream) {
	defer c.streams.handlers.Done()
	defer c.recoverPanic()
	aborted := true
	defer func() {
		if panicked := recover(); panicked != nil {
			if err, ok := panicked.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				c.server.Logger.Error("panic in a request handler", "panic", panicked, "stack", string(debug.Stack()))
			}
		}
		c.finish(st, aborted)
	}()
	c.server.Handler.ServeHTTP(&st.answer, st.request)
	aborted = st.answer.finish() != nil
}

// finish ends a stream whose handler has returned.
func (c *conn) finish(st *stream, aborted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.turn.End(st.body.arrived)
	if st.running {
		c.ran(st)
	}
	if aborted && st.lost == nil && !st.over {
		c.reset(st.id, frame.ErrCodeInternal)
	}
	st.body.closed = true
	c.remove(st)
	_ = c.flush(false) // an error ends the connection anyway
}

// await waits for a change of the stream, until a time unless it is zero. It needs the mutex, and
// releases it while it waits.
func (st *stream) await(until time.Time) error {
	if until.IsZero() {
		st.changed.Wait()
		return nil
	}
	left := until.Sub(st.conn.server.Now())
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	timer := time.AfterFunc(left, func() {
		st.conn.mu.Lock()
		defer st.conn.mu.Unlock()
		st.changed.Broadcast()
	})
	defer timer.Stop()
	st.changed.Wait()
	return nil
}

// bodyReader is the body for the handler.
type bodyReader struct{ st *stream }

// Read reads received bytes, or waits for some.
func (r bodyReader) Read(p []byte) (int, error) {
	st := r.st
	c, b := st.conn, &st.body
	held := false
	defer func() { st.turn.Resume(held) }() // without the mutex, for which the reading goroutine may wait during its turn
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if b.expected {
		b.expected = false
		c.queueHeaders(st.id, appendStatus(nil, http.StatusContinue), false)
		if err := c.flush(false); err != nil {
			return 0, err
		}
	}
	for b.start == len(b.unread) {
		switch {
		case b.closed:
			return 0, http.ErrBodyReadAfterClose
		case st.lost != nil: // even if the body is complete: the unread bytes are gone
			return 0, st.lost
		case b.ended:
			return 0, io.EOF
		}
		held = st.turn.Release() || held
		if err := st.await(st.readUntil); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.unread[b.start:])
	if b.start += n; b.start == len(b.unread) {
		b.unread, b.start = b.unread[:0], 0
		if cap(b.unread) > outputKeepMax {
			b.unread = nil
		}
	}
	c.giveBack(st, int64(n))
	return n, c.flush(false)
}

// Close discards the rest of the body.
func (r bodyReader) Close() error {
	st := r.st
	st.conn.mu.Lock()
	defer st.conn.mu.Unlock()
	st.body.closed, st.body.expected = true, false
	st.conn.giveBack(nil, int64(len(st.body.unread)-st.body.start)) // but not for more of this body
	st.body.unread, st.body.start = nil, 0
	st.changed.Broadcast()
	return st.conn.flush(false)
}
