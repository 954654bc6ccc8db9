package http2

import (
	"runtime"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/limits"
)

const (
	// outputMax is how many bytes may wait to be written before those who have more
	// wait, too.
	outputMax = 64 << 10
	// outputKeepMax is the largest buffer that is kept for what comes next.
	outputKeepMax = 16 << 10
	// turnsMax bounds how often a goroutine writes the frames of others after its own.
	turnsMax = 4
	// updatesOfRequest and updatesOfData are how many updates of windows a client may send for
	// each request, and for each frame of an answer's body: of the stream and of the connection.
	updatesOfRequest = 2
	updatesOfData    = 2
	// deadlineSlack: moving a deadline costs as much as making a small answer, so it is set
	// this much further than it has to be.
	deadlineSlack = 30 * time.Second
)

// output is what a connection has to say. Who has frames appends them to out and
// calls flush; one goroutine at a time writes.
type output struct {
	window     int64     // what may be sent of all bodies together
	updates    int       // of windows, that may still come
	out        []byte    // frames to write
	spare      []byte    // an empty buffer
	tableless  bool      // the next block of headers says that no table is used
	taken      uint64    // bytes that were taken out of out
	written    uint64    // bytes that the kernel has
	writing    bool      // a goroutine is
	wrote      sync.Cond // that written, writing or failed has changed
	failed     error     // of every further flush
	writeUntil time.Time // deadline set; for the goroutine that writes
}

// sayHeaders says a block of headers. It needs the mutex; the caller flushes.
func (c *conn) sayHeaders(stream uint32, block []byte, last bool) {
	if c.tableless {
		block, c.tableless = append([]byte{noTable}, block...), false
	}
	c.out = appendHeaders(c.out, stream, block, last)
}

// flush has what is in out written, and waits for that if it is to be whole, or much. Who
// finds another goroutine writing leaves it to that. Where several handlers run, those that are
// ready append what they have to say first: a commit answers many calls at a time, and
// where the node has one processor they would write one after the other. It needs the
// mutex, and lets go of it while it waits.
func (c *conn) flush(whole bool) error {
	all := c.taken + uint64(len(c.out))
	for c.writing && c.failed == nil && c.written < all {
		if !whole && len(c.out) <= outputMax {
			return nil
		}
		c.guard.Yield()
		c.wrote.Wait()
	}
	if c.failed != nil || c.writing || len(c.out) == 0 {
		return c.failed
	}
	c.writing = true
	if c.streams.running > 1 {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	c.writeTurns(turnsMax)
	if c.writing { // there is more, of others
		go c.writeRest()
	}
	return c.failed
}

// writeRest writes what there is, as long as there is any.
func (c *conn) writeRest() {
	defer c.recoverPanic()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing {
		c.writeTurns(turnsMax)
	}
}

// writeTurns writes what there is, so many times at most. writing is false after that if
// there is nothing left. It needs the mutex, and lets go of it while it writes.
func (c *conn) writeTurns(n int) {
	for ; n > 0 && len(c.out) > 0 && c.failed == nil; n-- {
		b := c.out
		c.out, c.spare = c.spare[:0], nil
		c.taken += uint64(len(b))
		c.mu.Unlock()
		err := c.write(b)
		c.mu.Lock()
		c.written += uint64(len(b))
		c.spare = kept(b)
		if err != nil {
			c.fail(err)
			_ = c.conn.Close() // whatever it says, the connection is gone
		}
		c.wrote.Broadcast()
	}
	if len(c.out) == 0 || c.failed != nil {
		c.writing = false
		c.wrote.Broadcast()
	}
}

// write writes b, for which the client has its time.
func (c *conn) write(b []byte) error {
	now := c.server.Now()
	limit := limits.WriteLimit(int64(len(b)), c.server.Budget.Scarce())
	if left := c.writeUntil.Sub(now); left < limit || left > limit+deadlineSlack {
		c.writeUntil = now.Add(limit)
		if limit == limits.WriteTimeout {
			c.writeUntil = c.writeUntil.Add(deadlineSlack)
		}
		if err := c.conn.SetWriteDeadline(c.writeUntil); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(b)
	return err
}

// fail ends all that waits for the connection. It needs the mutex.
func (c *conn) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
	c.wrote.Broadcast()
	for _, st := range c.streams.open {
		c.lose(st, err)
	}
}

// kept is an empty buffer, that of b unless it is large.
func kept(b []byte) []byte {
	if cap(b) > outputKeepMax {
		return nil
	}
	return b[:0]
}
