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

// streams are those of a connection.
type streams struct {
	open          map[uint32]*stream
	last          uint32    // the greatest number so far
	ended         time.Time // when there was none any more
	over          int       // of those, as far as the client is concerned
	running       int       // handlers, also of streams that are lost
	kept          []*stream // over, with all they are made of, for the next requests
	handlers      sync.WaitGroup
	initialWindow int64  // window of a new stream
	share         *share // of what all connections of its host have under way
}

// stream is one request with its answer. Its first part is not changed, the second
// has the mutex of the connection, the third belongs to the goroutine of the handler.
type stream struct {
	conn   *conn
	id     uint32
	cancel context.CancelFunc
	turn   unverified.Turn // of the request

	changed    sync.Cond // that anything below has changed
	body       body
	credit     credit
	window     int64     // what may be sent
	readUntil  time.Time // zero: no limit
	writeUntil time.Time // zero: what the size of a write gives it
	lost       error     // the client does not read the answer
	over       bool      // the end of the answer was said
	running    bool      // its handler is counted as such

	blank   *http.Request // with what all requests of the stream have, which may be several
	request *http.Request
	url     url.URL
	values  []string // of the request's header
	answer  answer
}

// body is the received part of a request body. It has the mutex of the connection.
type body struct {
	unread   []byte
	start    int   // of what is unread
	arrived  int64 // in all
	declared int64 // length, below zero if unknown
	ended    bool  // nothing more comes
	closed   bool  // the handler wants nothing more
	expected bool  // the client waits until it is asked for the body
}

// add adds what has come.
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

// wrong reports whether the body has another length than was declared.
func (b *body) wrong() bool {
	return b.declared >= 0 && (b.arrived > b.declared || b.ended && b.arrived < b.declared)
}

// credit counts the bytes that a client may send, and those read since the last window update.
type credit struct{ left, owed int64 }

// take takes n bytes. It reports false if there is no credit for them.
func (k *credit) take(n int64) bool {
	k.left -= n
	return k.left >= 0
}

// give gives n bytes back, and returns how many the client should be told of.
func (k *credit) give(n, window int64) int64 {
	if k.owed += n; k.owed < window/2 {
		return 0
	}
	n, k.owed = k.owed, 0
	k.left += n
	return n
}

// giveBack lets the client send so many bytes more, of the stream, too, unless that is nil.
// It needs the mutex; the caller flushes.
func (c *conn) giveBack(st *stream, n int64) {
	if more := c.credit.give(n, windowOfConn); more > 0 {
		c.out = appendWindowUpdate(c.out, 0, more)
	}
	if st == nil || st.body.ended || st.lost != nil {
		return
	}
	if more := st.credit.give(n, windowOfStream); more > 0 {
		c.out = appendWindowUpdate(c.out, st.id, more)
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

// remove removes a stream that is over. It needs the mutex; the caller flushes.
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
	if c.ending.said || c.server.closes.Load() {
		c.sayEnd(c.streams.ended)
	}
}

// reset tells the client that a stream is over. It needs the mutex; the caller flushes.
func (c *conn) reset(id uint32, code frame.ErrCode) {
	c.out = appendReset(c.out, id, code)
	if st := c.streams.open[id]; st != nil {
		c.lose(st, context.Canceled)
	}
}

// startWaiting starts the handler that waits for more of its request, if one does.
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

// run counts the handler of a stream, which will be called. It needs the mutex.
func (c *conn) run(st *stream) {
	st.turn.TakeOver(&c.frames.turn)
	st.running = true
	c.streams.running++
	c.server.load.add(c.streams.share, 1)
}

// ran counts a handler no more. It needs the mutex.
func (c *conn) ran(st *stream) {
	st.running = false
	c.streams.running--
	c.server.load.add(c.streams.share, -1)
}

// conclude ends a stream as the client sees it, who may open another one as soon as it has read
// that. A handler that has to wait for the client to read is counted on. It needs the
// mutex; the caller flushes.
func (c *conn) conclude(st *stream) {
	if !st.body.ended { // an answer that is whole makes the rest of the request needless
		c.out = appendReset(c.out, st.id, frame.ErrCodeNo)
	}
	st.over, st.body.closed = true, true
	c.streams.over++
	if len(c.out) <= outputMax {
		c.ran(st)
	}
}

// handle calls the handler and sends what is left of its answer.
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

// finish ends a stream whose handler has returned and whose answer was written.
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

// await waits until anything of the stream has changed, or until a time that is not
// zero. It needs the mutex, and lets go of it while it waits.
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

// bodyReader is the body as the handler sees it.
type bodyReader struct{ st *stream }

// Read reads what has come, or waits for it.
func (r bodyReader) Read(p []byte) (int, error) {
	st := r.st
	c, b := st.conn, &st.body
	held := false
	defer func() { st.turn.Resume(held) }() // without the mutex, which the goroutine that reads may wait for in its turn
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if b.expected {
		b.expected = false
		c.sayHeaders(st.id, appendStatus(nil, http.StatusContinue), false)
		if err := c.flush(false); err != nil {
			return 0, err
		}
	}
	for b.start == len(b.unread) {
		switch {
		case b.closed:
			return 0, http.ErrBodyReadAfterClose
		case st.lost != nil: // even if the body had come whole: what was unread is gone
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

// Close says that nothing more of the body is wanted.
func (r bodyReader) Close() error {
	st := r.st
	st.conn.mu.Lock()
	defer st.conn.mu.Unlock()
	st.body.closed, st.body.expected = true, false
	st.conn.giveBack(nil, int64(len(st.body.unread)-st.body.start)) // but no room for more of this one
	st.body.unread, st.body.start = nil, 0
	st.changed.Broadcast()
	return st.conn.flush(false)
}
