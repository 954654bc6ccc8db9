package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readBufferBytes is what a connection begins with. It keeps what its largest
	// request so far needed, 2 KiB with most clients: thousands of them wait.
	readBufferBytes = 1 << 10
	// readBufferKeepMax is the largest buffer that is kept for the next request.
	readBufferKeepMax = 64 << 10
	// lineEndsMax is how many bytes of line ends may follow a request, as old
	// clients send them after the body of a POST (RFC 9112, 2.2; so many as
	// net/http passes over).
	lineEndsMax = 4
	// deadlineSlack: moving a deadline costs as much as parsing a small
	// request, so it is set this much further than it has to be.
	deadlineSlack = 30 * time.Second
	// watchAfter is how long a request takes before the connection is watched
	// for the client's leaving. Most are answered before; one who leaves
	// earlier is noticed at the end of it.
	watchAfter = 50 * time.Millisecond
)

// States of a connection, of which shutdown may end an idle one only.
const (
	connIdle uint32 = iota
	connActive
	connClosed
)

// http1Conn is one connection and the request it carries. Its parts are made
// once and used for each request, so no handler may keep any. Used by the
// goroutine of serve, except where said.
type http1Conn struct {
	server *http1Server
	conn   net.Conn
	ctx    context.Context // of all requests: who leaves one leaves them all
	cancel context.CancelFunc
	state  atomic.Uint32 // also changed by shutdown
	once   sync.Once     // of closing the socket

	buffer     []byte // [start:end] was read and not yet used
	start, end int
	lineEnds   int       // how many more bytes of line ends may come before a request
	readUntil  time.Time // deadlines as set; zero: none
	writeUntil time.Time
	cut        bool // the request did not come whole; its answer is the last

	request *http.Request
	url     url.URL
	values  []string // of the request's header
	body    http1Body
	answer  http1Answer
	watch   peerWatch
}

func newHTTP1Conn(s *http1Server, conn net.Conn) *http1Conn {
	c := &http1Conn{server: s, conn: conn}
	c.ctx, c.cancel = context.WithCancel(s.base)
	c.request = (&http.Request{
		Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, URL: &c.url, Body: &c.body,
		Header: make(http.Header), RemoteAddr: conn.RemoteAddr().String(),
	}).WithContext(c.ctx)
	c.answer = http1Answer{conn: c, header: make(http.Header)}
	c.watch = peerWatch{conn: c, ended: make(chan struct{}, 1)}
	return c
}

func (c *http1Conn) closeSocket() {
	c.once.Do(func() { _ = c.conn.Close() }) // whatever it says, the connection is gone
}

// serve answers requests until the connection ends or is handed over.
func (c *http1Conn) serve() {
	defer c.server.forget(c)
	defer c.cancel()
	for {
		ours, err := c.receive()
		if err == nil && !ours {
			c.pass()
			return
		}
		// After an error nobody is left, or nobody who could be told.
		if err != nil || !c.handle() || !c.rest() {
			c.closeSocket()
			return
		}
	}
}

// pass hands the connection over with everything that was read of it.
func (c *http1Conn) pass() {
	_ = c.conn.SetDeadline(time.Time{}) // fails only on a connection that is gone, as reading it will
	c.server.handover(&replayConn{Conn: c.conn, read: c.buffer[c.start:c.end]})
}

// rest is between two requests. It reports false if there is to be no next.
func (c *http1Conn) rest() bool {
	c.lineEnds = lineEndsMax
	c.skipLineEnds()
	if c.start == c.end {
		c.start, c.end = 0, 0
		if len(c.buffer) > readBufferKeepMax {
			c.buffer = nil
		}
		c.state.Store(connIdle)
	}
	// The server says that connections are to end before it looks for idle
	// ones, so that one of the two looks sees the other.
	return !c.server.closes.Load()
}

// skipLineEnds passes over line ends before a request.
func (c *http1Conn) skipLineEnds() {
	for ; c.lineEnds > 0 && c.start < c.end; c.lineEnds-- {
		if next := c.buffer[c.start]; next != '\r' && next != '\n' {
			c.lineEnds = 0
			return
		}
		c.start++
	}
}

// receive reads one request. It reports false if that is one for net/http; then
// nothing of it is used.
func (c *http1Conn) receive() (ours bool, err error) {
	begun := c.end > c.start
	searched, header := 0, 0
	for {
		unused := c.buffer[c.start:c.end]
		if header = endOfHeader(unused, searched); header > 0 {
			break
		}
		if len(unused) >= headerBytesMax || !mayBePost(unused, searched) {
			return false, nil
		}
		searched = len(unused)
		if err := c.read(); err != nil {
			return false, err
		}
		if begun {
			continue
		}
		if c.skipLineEnds(); c.start == c.end {
			continue
		}
		begun = true
		if !c.state.CompareAndSwap(connIdle, connActive) {
			return false, net.ErrClosed
		}
		if header = endOfHeader(c.buffer[c.start:c.end], 0); header > 0 {
			break
		}
		if err := c.setReadDeadline(c.server.now().Add(readHeaderTimeout)); err != nil {
			return false, err
		}
	}
	length, ours := c.parse(c.buffer[c.start : c.start+header])
	if !ours {
		return false, nil
	}
	err = c.readBody(header + length)
	if c.cut = errors.Is(err, os.ErrDeadlineExceeded); c.cut {
		length = c.end - c.start - header // the handler tells the client
	} else if err != nil {
		return false, err
	}
	c.body = http1Body{rest: c.buffer[c.start+header : c.start+header+length]}
	if c.cut {
		c.body.end = err
	}
	c.start += header + length
	return true, nil
}

// readBody reads until a whole request of this size is in the buffer.
func (c *http1Conn) readBody(size int) error {
	if c.end-c.start >= size {
		return nil
	}
	if err := c.setReadDeadline(c.server.now().Add(readTimeout)); err != nil {
		return err
	}
	for c.end-c.start < size {
		if err := c.read(); err != nil {
			return err
		}
	}
	return nil
}

// read reads more into the buffer.
func (c *http1Conn) read() error {
	c.makeRoom()
	n, err := c.conn.Read(c.buffer[c.end:])
	if c.end += n; n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// makeRoom makes room in the buffer, as much again as there is already: a
// length that was announced and never sent costs nothing.
func (c *http1Conn) makeRoom() {
	if c.end < len(c.buffer) {
		return
	}
	kept := c.buffer[c.start:c.end]
	if len(kept) > len(c.buffer)/2 || len(c.buffer) == 0 {
		c.buffer = make([]byte, max(readBufferBytes, 2*len(kept)))
	}
	c.start, c.end = 0, copy(c.buffer, kept)
}

func (c *http1Conn) setReadDeadline(until time.Time) error {
	c.readUntil = until
	return c.conn.SetReadDeadline(until)
}

// patience makes the deadline of reading far enough for the handling of a
// request, in which only the watch reads, and the wait for the next one.
func (c *http1Conn) patience(now time.Time) error {
	if c.readUntil.Sub(now) >= idleTimeout {
		return nil
	}
	return c.setReadDeadline(now.Add(idleTimeout + deadlineSlack))
}

// handle calls the handler and sends its answer. It reports false if the
// connection has to be closed.
func (c *http1Conn) handle() (keep bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			if panicked != http.ErrAbortHandler {
				c.server.log.Error("panic in a request handler", "panic", panicked, "stack", string(debug.Stack()))
			}
			c.watch.end()
			keep = false
		}
	}()
	if c.patience(c.server.now()) != nil {
		return false
	}
	c.answer.reset()
	c.watch.begin()
	c.server.handler.ServeHTTP(&c.answer, c.request)
	if c.watch.end() {
		return false
	}
	return c.answer.finish() == nil && !c.last()
}

// last reports whether the connection ends with the answer to this request.
func (c *http1Conn) last() bool { return c.cut || c.server.closes.Load() }

// peerWatch notices that the client of a slow request has left, by reading from
// its connection: nothing else is to come until it is answered.
type peerWatch struct {
	conn   *http1Conn
	timer  *time.Timer // nil before the first request
	active bool
	ended  chan struct{} // capacity 1: the one end of what the timer started
	peeked [1]byte       // the beginning of the next request
	n      int
	gone   bool
}

func (w *peerWatch) begin() {
	w.n, w.gone, w.active = 0, false, true
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, w.run)
		return
	}
	w.timer.Reset(watchAfter)
}

// run reads until something comes, the client is gone, or end interrupts it. It
// has the timer's goroutine; end waits for it.
func (w *peerWatch) run() {
	n, err := w.conn.conn.Read(w.peeked[:])
	w.n = n
	if n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.gone = true
		w.conn.cancel()
	}
	w.ended <- struct{}{}
}

// end ends the watch and reports whether the client is gone.
func (w *peerWatch) end() (gone bool) {
	if !w.active {
		return false
	}
	w.active = false
	if w.timer.Stop() {
		return false
	}
	c := w.conn
	interrupted := c.setReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, which ends the read as well
	<-w.ended
	if interrupted != nil || w.gone {
		return true
	}
	if w.n > 0 {
		c.makeRoom()
		c.buffer[c.end] = w.peeked[0]
		c.end++
	}
	return c.patience(c.server.now()) != nil
}
