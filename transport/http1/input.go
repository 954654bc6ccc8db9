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
	// readBufferBytes is the initial buffer of a connection. The buffer keeps the size that its
	// largest request needed, 2 KiB with most clients.
	readBufferBytes = 1 << 10
	// readBufferKeepMax bounds the buffer that is kept for the next request.
	readBufferKeepMax = 64 << 10
	// lineEndsMax bounds the bytes of line ends behind a request, which old clients send after
	// the body of a POST (RFC 9112, 2.2; the same number as net/http).
	lineEndsMax = 4
)

// input holds the bytes that a connection has read and not yet used.
type input struct {
	buffer     []byte // [start:end] was read and not yet used
	start, end int
	taken      int64           // bytes of the budget that buffer holds
	waitUntil  time.Time       // end of the wait for the budget
	lineEnds   int             // bytes of line ends that may still come before a request
	turn       unverified.Turn // of the request, from its header on
}

// unused returns the bytes that were read and not yet used.
func (in *input) unused() []byte { return in.buffer[in.start:in.end] }

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

// receive reads one request. It reports false, and uses no byte, if net/http must serve it.
func (c *conn) receive() (ours bool, err error) {
	begun := c.input.end > c.input.start
	pipelined := begun
	timed := false // the header has its deadline
	searched, header := 0, 0
	for {
		if unused := c.input.unused(); begun {
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
				c.input.waitUntil = now.Add(budget.WaitMax)
			}
			searched = len(unused)
		}
		if err := c.read(0); err != nil {
			return false, c.refuseHeader(err)
		}
		if begun {
			continue
		}
		if c.input.skipLineEnds(); c.input.start == c.input.end {
			continue
		}
		begun = true
		if !c.state.CompareAndSwap(connIdle, connActive) {
			return false, net.ErrClosed
		}
	}
	if pipelined {
		runtime.Gosched() // let other connections go first, also those of clients with a key
	}
	c.input.turn.Begin()
	length, ours := c.parse(c.input.unused()[:header])
	if !ours {
		c.forgetRequest()
		return false, nil
	}
	return true, c.receiveBody(header, length)
}

// refuseHeader answers 503 if the budget had no room for the header.
func (c *conn) refuseHeader(err error) error {
	if errors.Is(err, budget.ErrExhausted) && c.setWriteDeadline(c.server.Now(), limits.ScarceTimeout) == nil {
		_, _ = io.WriteString(c.conn, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: "+
			"0\r\n\r\n")
	}
	return err
}

// receiveBody reads the body behind a header at the start of the unused input. If it is late, or
// the budget has no room, the handler gets the error when it reads the body.
func (c *conn) receiveBody(header, length int) error {
	in := &c.input
	size := header + length
	err := c.readWhole(size)
	switch {
	case err == nil:
		c.body = Body{unread: in.buffer[in.start+header : in.start+size], lasts: len(in.buffer) > readBufferKeepMax}
		in.start += size
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.body = Body{unread: in.buffer[in.start+header : in.end], err: err}
		in.start, c.truncated = in.end, true
		c.refuseLate(limits.RefusedSlow, err)
		return nil
	case errors.Is(err, budget.ErrExhausted):
		c.body = Body{err: err}
		return c.discard(size)
	}
	return err
}

// readWhole reads until the buffer holds a request of this size.
func (c *conn) readWhole(size int) error {
	if c.input.end-c.input.start >= size {
		return nil
	}
	held := c.input.turn.Release()
	defer func() { c.input.turn.Resume(held) }()
	now, limit := c.server.Now(), limits.BodyTimeout
	c.input.waitUntil = now.Add(budget.WaitMax)
	if size > limits.FreeBytes && c.server.Budget.Scarce() {
		limit = limits.ScarceTimeout
	}
	if err := c.setReadDeadline(now.Add(limit)); err != nil {
		return err
	}
	for c.input.end-c.input.start < size {
		if err := c.read(size); err != nil {
			return err
		}
	}
	return nil
}

// discard skips a request of this size, so that a client that writes everything before it reads
// gets its answer.
func (c *conn) discard(size int) error {
	held := c.input.turn.Release()
	defer func() { c.input.turn.Resume(held) }()
	size -= c.input.end - c.input.start
	c.releaseBuffer()
	c.input.buffer = make([]byte, readBufferBytes)
	for size > 0 {
		n, err := c.conn.Read(c.input.buffer[:min(size, len(c.input.buffer))])
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

// read reads more into the buffer; size is that of the request, 0 if unknown.
func (c *conn) read(size int) error {
	if err := c.makeRoom(size); err != nil {
		return err
	}
	n, err := c.conn.Read(c.input.buffer[c.input.end:])
	if c.input.end += n; n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// makeRoom doubles the buffer, or quadruples it up to a known size of the request. So a length
// that is announced and never sent costs nothing.
func (c *conn) makeRoom(size int) error {
	in := &c.input
	if in.end < len(in.buffer) {
		return nil
	}
	kept := in.unused()
	if in.start > 0 && !c.body.given && (len(kept) <= len(in.buffer)/2 || 0 < size && size <= len(in.buffer)) {
		in.start, in.end = 0, copy(in.buffer, kept)
		return nil
	}
	next := max(readBufferBytes, 2*len(kept))
	if size > len(kept) {
		next = min(2*next, max(readBufferBytes, size))
	}
	return c.moveTo(next)
}

// shrink reduces a large buffer between two requests.
func (c *conn) shrink() error {
	in := &c.input
	kept := in.end - in.start
	if kept == 0 {
		in.start, in.end = 0, 0
	}
	if len(in.buffer) <= readBufferKeepMax && (in.taken == 0 || !c.server.Budget.Scarce()) {
		return nil
	}
	if kept == 0 {
		c.releaseBuffer()
		return nil
	}
	if small := max(readBufferBytes, kept); small < len(in.buffer) {
		return c.moveTo(small)
	}
	return nil
}

// moveTo replaces the buffer by one of another size.
func (c *conn) moveTo(size int) error {
	in := &c.input
	if err := c.take(max(0, int64(size-limits.FreeBytes))); err != nil {
		return err
	}
	kept := in.unused()
	in.buffer = make([]byte, size)
	in.start, in.end = 0, copy(in.buffer, kept)
	return nil
}

// take sets the number of bytes that the buffer holds of the budget.
func (c *conn) take(n int64) error {
	in := &c.input
	if n > in.taken {
		if err := c.server.Budget.Acquire(c.ctx, n-in.taken, in.waitUntil.Sub(c.server.Now())); err != nil {
			return err
		}
	} else {
		c.server.Budget.Release(in.taken - n)
	}
	in.taken = n
	return nil
}

// releaseBuffer drops the buffer with its content.
func (c *conn) releaseBuffer() {
	in := &c.input
	c.server.Budget.Release(in.taken)
	in.buffer, in.start, in.end, in.taken = nil, 0, 0, 0
}
