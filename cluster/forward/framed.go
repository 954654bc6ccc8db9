package forward

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

const (
	// readBuffer lets one call read several small frames.
	readBuffer = 16 << 10
	// keepMax is the largest buffer kept for the next frame.
	keepMax = 256 << 10
)

// Kinds of frames. The first two carry a RequestFrame or an AnswerFrame of peer.proto. The numbers
// are part of the protocol between nodes and are never reused.
const (
	framedRequests = 1
	framedAnswers  = 2
	framedEnd      = 3 // no more requests follow
	framedAlive    = 4 // keeps an idle connection open
)

// An end that wrote nothing for silenceMax writes framedAlive. An end that read nothing for
// silentTicks times as long closes the connection, because the other machine may have stopped.
const (
	silenceMax  = 5 * time.Second
	silentTicks = 3
)

// framedConn is one end of a connection. One goroutine reads; sending is safe for concurrent use.
type framedConn struct {
	conn net.Conn
	in   *frame.Reader

	mu  sync.Mutex
	out []byte // the frame being written

	written, read atomic.Uint64 // frames
	ended         atomic.Bool   // framedEnd was read
	closed        atomic.Bool

	// Used by tick only.
	writtenBefore, readBefore uint64
	silent                    int // ticks since a frame was read
}

// newFramedConn uses conn until close.
func newFramedConn(conn net.Conn) *framedConn {
	c := &framedConn{conn: conn, in: frame.NewReader(conn, readBuffer, frame.Limits{Data: frameLimit})}
	time.AfterFunc(silenceMax, c.tick)
	return c
}

// close closes the connection. You may call it more than once.
func (c *framedConn) close() error {
	c.closed.Store(true)
	return c.conn.Close()
}

// tick checks that both ends have written since the last tick.
func (c *framedConn) tick() {
	if c.closed.Load() {
		return
	}
	written, read := c.written.Load(), c.read.Load()
	if c.silent++; read != c.readBefore || c.ended.Load() {
		c.silent = 0
	}
	if c.silent == silentTicks {
		_ = c.close() // reads and writes fail
		return
	}
	// If the lock is taken, a frame is being written.
	if written == c.writtenBefore && c.mu.TryLock() {
		_ = c.write(framedAlive, nil) // on failure, reads fail too
		c.mu.Unlock()
	}
	c.writtenBefore, c.readBefore = c.written.Load(), read
	time.AfterFunc(silenceMax, c.tick)
}

// send writes a frame with one call. content may be nil.
func (c *framedConn) send(kind uint8, content message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(kind, content)
}

// write is send for a caller that holds mu.
func (c *framedConn) write(kind uint8, content message) error {
	c.out = frame.Begin(c.out)
	if content != nil {
		var err error
		if c.out, err = appendFrame(c.out, content); err != nil {
			return err
		}
	}
	if size := len(c.out) - frame.Head; size > frameLimit {
		return fmt.Errorf("a frame of %d bytes for another node is larger than it takes", size)
	}
	frame.Finish(c.out, kind, 0)
	_, err := c.conn.Write(c.out)
	if cap(c.out) > keepMax {
		c.out = nil
	}
	c.written.Add(1)
	return err
}

// next returns the data of the next frame, of kind want. The error is io.EOF if the other end has
// closed the connection or sends no more requests. Any other error ends the connection.
func (c *framedConn) next(want uint8) ([]byte, error) {
	for {
		kind, _, size, err := c.in.Next()
		var content []byte
		if err == nil {
			content, err = c.in.Data(size)
		}
		if err != nil {
			_ = c.close() // writes fail
			return nil, err
		}
		c.read.Add(1)
		switch {
		case kind == want:
			return content, nil
		case kind == framedEnd && size == 0:
			c.ended.Store(true)
			return nil, io.EOF
		case kind == framedAlive && size == 0:
		default:
			_ = c.close()
			return nil, frame.Damaged("it is of kind %d and has %d bytes", kind, size)
		}
	}
}
