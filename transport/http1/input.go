package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

const (
	// readBufferBytes is the first size of the buffer of a connection. It keeps the size that its largest
	// request so far needed, 2 KiB with most clients: thousands of them wait.
	readBufferBytes = 1 << 10
	// readBufferKeepMax is the largest buffer that is kept for the next request.
	readBufferKeepMax = 64 << 10
	// lineEndsMax is how many bytes of line ends may follow a request, as old
	// clients send them after the body of a POST (RFC 9112, 2.2; so many as
	// net/http skips).
	lineEndsMax = 4
)

// input holds the bytes that a connection has read and not used yet.
type input struct {
	buffer     []byte // [start:end] was read and not yet used
	start, end int
	taken      int64           // bytes of the budget that buffer holds
	waitUntil  time.Time       // how long this request may wait for more of it
	lineEnds   int             // how many more bytes of line ends may come before a request
	turn       unverified.Turn // of the request, from its header on
}

// skipLineEnds skips line ends before a request.
func (in *input) skipLineEnds() {
	for ; in.lineEnds > 0 && in.start < in.end; in.lineEnds-- {
		if next := in.buffer[in.start]; next != '\r' && next != '\n' {
			in.lineEnds = 0
			return
		}
		in.start++
	}
}

// receive reads one request. It reports false if that is one for net/http; then
// nothing of it is used.
func (c *conn) receive() (ours bool, err error) {
	begun := c.end > c.start
	pipelined := begun
	timed := false // the header has its deadline
	searched, header := 0, 0
	for {
		if unused := c.buffer[c.start:c.end]; begun {
			if header = endOfHeader(unused, searched); header > 0 {
				break
			}
			if len(unused) >= limits.HeaderBytesMax || !mayBePost(unused, searched) {
				return false, nil
			}
			if !timed {
				now := c.server.Now()
				if err := c.setReadDeadline(now.Add(limits.HeaderTimeout)); err != nil {
					return false, err
				}
				timed = true
				c.waitUntil = now.Add(budget.WaitMax)
			}
			searched = len(unused)
		}
		if err := c.read(0); err != nil {
			return false, c.refuseHeader(err)
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
	}
	if pipelined {
		runtime.Gosched() // connections take turns, also those of clients with a key
	}
	c.turn.Begin()
	length, ours := c.parse(c.buffer[c.start : c.start+header])
	if !ours {
		c.forgetRequest()
		return false, nil
	}
	return true, c.receiveBody(header, length)
}

// refuseHeader answers a request whose header found no room; of any other it
// is not known enough to answer.
func (c *conn) refuseHeader(err error) error {
	if errors.Is(err, budget.ErrExhausted) && c.setWriteDeadline(c.server.Now(), limits.ScarceTimeout) == nil {
		_, _ = io.WriteString(c.conn, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
	return err
}

// receiveBody makes the body, of a request whose header is at the beginning of
// what is unused. If it did not come in time, or found no room, the handler
// finds out when it reads it.
func (c *conn) receiveBody(header, length int) error {
	size := header + length
	err := c.readWhole(size)
	switch {
	case err == nil:
		c.body = Body{unread: c.buffer[c.start+header : c.start+size], lasts: len(c.buffer) > readBufferKeepMax}
		c.start += size
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.body = Body{unread: c.buffer[c.start+header : c.end], err: err}
		c.start, c.truncated = c.end, true
		c.refuseLate(limits.RefusedSlow, err)
		return nil
	case errors.Is(err, budget.ErrExhausted):
		c.body = Body{err: err}
		return c.discard(size)
	}
	return err
}

// readWhole reads until a whole request of this size is in the buffer.
func (c *conn) readWhole(size int) error {
	if c.end-c.start >= size {
		return nil
	}
	held := c.turn.Release()
	defer func() { c.turn.Resume(held) }()
	now, limit := c.server.Now(), limits.BodyTimeout
	c.waitUntil = now.Add(budget.WaitMax)
	if size > limits.FreeBytes && c.server.Budget.Scarce() {
		limit = limits.ScarceTimeout
	}
	if err := c.setReadDeadline(now.Add(limit)); err != nil {
		return err
	}
	for c.end-c.start < size {
		if err := c.read(size); err != nil {
			return err
		}
	}
	return nil
}

// discard skips a request of this size without keeping it, so that the client,
// which may read nothing before it has written all, gets its answer. One that
// takes too long is truncated.
func (c *conn) discard(size int) error {
	held := c.turn.Release()
	defer func() { c.turn.Resume(held) }()
	size -= c.end - c.start
	c.releaseBuffer()
	c.buffer = make([]byte, readBufferBytes)
	for size > 0 {
		n, err := c.conn.Read(c.buffer[:min(size, len(c.buffer))])
		if size -= n; err != nil {
			c.truncated = true
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil
			}
			return err
		}
	}
	return nil
}

// read reads more into the buffer; size is that of the whole request, 0 if it
// is not known yet.
func (c *conn) read(size int) error {
	if err := c.makeRoom(size); err != nil {
		return err
	}
	n, err := c.conn.Read(c.buffer[c.end:])
	if c.end += n; n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// makeRoom makes room in the buffer, as much again as there is already, or four
// times as much if the size of the request is known, but not more than that: a length
// that was announced and never sent costs nothing.
func (c *conn) makeRoom(size int) error {
	if c.end < len(c.buffer) {
		return nil
	}
	kept := c.buffer[c.start:c.end]
	if c.start > 0 && !c.body.given && (len(kept) <= len(c.buffer)/2 || 0 < size && size <= len(c.buffer)) {
		c.start, c.end = 0, copy(c.buffer, kept)
		return nil
	}
	next := max(readBufferBytes, 2*len(kept))
	if size > len(kept) {
		next = min(2*next, max(readBufferBytes, size))
	}
	return c.moveTo(next)
}

// shrink keeps, between two requests, no more than the next one will need.
func (c *conn) shrink() error {
	kept := c.end - c.start
	if kept == 0 {
		c.start, c.end = 0, 0
	}
	if len(c.buffer) <= readBufferKeepMax && (c.taken == 0 || !c.server.Budget.Scarce()) {
		return nil
	}
	if kept == 0 {
		c.releaseBuffer()
		return nil
	}
	if small := max(readBufferBytes, kept); small < len(c.buffer) {
		return c.moveTo(small)
	}
	return nil
}

// moveTo replaces the buffer by one of another size.
func (c *conn) moveTo(size int) error {
	if err := c.take(max(0, int64(size-limits.FreeBytes))); err != nil {
		return err
	}
	kept := c.buffer[c.start:c.end]
	c.buffer = make([]byte, size)
	c.start, c.end = 0, copy(c.buffer, kept)
	return nil
}

// take makes this the number of bytes that the buffer holds of the budget.
func (c *conn) take(n int64) error {
	if n > c.taken {
		if err := c.server.Budget.Acquire(c.ctx, n-c.taken, c.waitUntil.Sub(c.server.Now())); err != nil {
			return err
		}
	} else {
		c.server.Budget.Release(c.taken - n)
	}
	c.taken = n
	return nil
}

// releaseBuffer drops the buffer with what is in it.
func (c *conn) releaseBuffer() {
	c.server.Budget.Release(c.taken)
	c.buffer, c.start, c.end, c.taken = nil, 0, 0, 0
}
