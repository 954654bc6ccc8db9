package http2

import (
	"runtime"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/limits"
)

const (
	// outputMax bounds the bytes to write. Goroutines with more to write wait.
	outputMax = 64 << 10
	// outputKeepMax bounds the buffers that are kept.
	outputKeepMax = 16 << 10
	// turnsMax bounds the writes of one goroutine for others.
	turnsMax = 4
	// updatesOfRequest and updatesOfData bound the window updates of a client for each request, and
	// for each frame of an answer's body: one of the stream and one of the connection.
	updatesOfRequest = 2
	updatesOfData    = 2
	// deadlineSlack is added to deadlines, because moving one costs as much as a small answer.
	deadlineSlack = 30 * time.Second
)

// output buffers the outgoing frames of a connection. Writers append to queued and call flush;
// one goroutine at a time writes.
type output struct {
	window     int64     // bytes of bodies that may be sent
	updates    int       // window updates that the client may send
	queued     []byte    // frames to write
	spare      []byte    // an empty buffer
	tableless  bool      // the next block of headers begins with noTable
	taken      uint64    // bytes removed from queued
	written    uint64    // bytes that the kernel has
	writing    bool      // a goroutine writes
	wrote      sync.Cond // written, writing or failed has changed
	failed     error     // of every further flush
	writeUntil time.Time // the current deadline; for the writing goroutine
}

// queueHeaders appends a block of headers to queued. It needs the mutex; the caller flushes.
func (c *conn) queueHeaders(stream uint32, block []byte, last bool) {
	if c.output.tableless {
		block, c.output.tableless = append([]byte{noTable}, block...), false
	}
	c.output.queued = appendHeaders(c.output.queued, stream, block, last)
}

// flush writes the queued frames, or leaves that to a goroutine that writes already. It waits for
// the write if whole is set or much is queued. If several handlers run, it first lets the ready ones
// append their answers: a commit completes many calls at once. It needs the mutex, and releases it
// while it waits.
func (c *conn) flush(whole bool) error {
	all := c.output.taken + uint64(len(c.output.queued))
	for c.output.writing && c.output.failed == nil && c.output.written < all {
		if !whole && len(c.output.queued) <= outputMax {
			return nil
		}
		c.frames.guard.Yield()
		c.output.wrote.Wait()
	}
	if c.output.failed != nil || c.output.writing || len(c.output.queued) == 0 {
		return c.output.failed
	}
	c.output.writing = true
	if c.streams.running > 1 {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	c.writeTurns(turnsMax)
	if c.output.writing { // others have appended more
		go c.writeRest()
	}
	return c.output.failed
}

// writeRest writes until nothing is queued.
func (c *conn) writeRest() {
	defer c.recoverPanic()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.output.writing {
		c.writeTurns(turnsMax)
	}
}

// writeTurns writes the queued frames up to n times, and clears writing if nothing is left. It needs
// the mutex, and releases it while it writes.
func (c *conn) writeTurns(n int) {
	for ; n > 0 && len(c.output.queued) > 0 && c.output.failed == nil; n-- {
		b := c.output.queued
		c.output.queued, c.output.spare = c.output.spare[:0], nil
		c.output.taken += uint64(len(b))
		c.mu.Unlock()
		err := c.write(b)
		c.mu.Lock()
		c.output.written += uint64(len(b))
		c.output.spare = kept(b)
		if err != nil {
			c.fail(err)
			_ = c.conn.Close() // the connection is gone in any case
		}
		c.output.wrote.Broadcast()
	}
	if len(c.output.queued) == 0 || c.output.failed != nil {
		c.output.writing = false
		c.output.wrote.Broadcast()
	}
}

// write writes b with the deadline for its size.
func (c *conn) write(b []byte) error {
	now := c.server.Now()
	limit := limits.WriteLimit(int64(len(b)), c.server.Budget.Scarce())
	if left := c.output.writeUntil.Sub(now); left < limit || left > limit+deadlineSlack {
		c.output.writeUntil = now.Add(limit)
		if limit == limits.WriteTimeout {
			c.output.writeUntil = c.output.writeUntil.Add(deadlineSlack)
		}
		if err := c.conn.SetWriteDeadline(c.output.writeUntil); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(b)
	return err
}

// fail ends all streams. It needs the mutex.
func (c *conn) fail(err error) {
	if c.output.failed == nil {
		c.output.failed = err
	}
	c.output.wrote.Broadcast()
	for _, st := range c.streams.open {
		c.lose(st, err)
	}
}

// kept returns b without content for reuse, nil if it is large.
func kept(b []byte) []byte {
	if cap(b) > outputKeepMax {
		return nil
	}
	return b[:0]
}
