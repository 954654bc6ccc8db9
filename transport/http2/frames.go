package http2

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// read reads frames until the end of the connection, or until another goroutine reads on.
func (c *conn) read() (passed bool) {
	defer c.recoverPanic()
	for {
		if err := c.await(); err != nil {
			return errors.Is(err, errPassed)
		}
		c.frames.begin()
		plain, err := c.plainFrame()
		if !plain {
			err = c.otherFrame()
		}
		if err != nil && !c.refuse(err) {
			return false
		}
	}
}

// framesMax bounds the frames that are processed in one turn, unless a request is among them.
const framesMax = 16

// frames are the turns of the goroutine that reads the frames of a connection that is not trusted.
// A handler that starts takes over the turn.
type frames struct {
	guard *unverified.Conn // below that of the server; nil: none
	turn  unverified.Turn
	left  int // of this turn
}

// hold waits for a turn unless one is held.
func (f *frames) hold() {
	if !f.turn.Held() {
		f.turn.Begin()
	}
}

// begin takes a turn for the next frame, at the back of the line if this one is used up.
func (f *frames) begin() {
	if f.left--; f.left > 0 && f.turn.Held() {
		return
	}
	f.turn.Release()
	f.turn.Begin()
	f.left = framesMax
}

// plainFrame takes the next frame out of the buffer if it is there, and one of those that
// most requests consist of. It reports false if it is the framer's to read.
func (c *conn) plainFrame() (plain bool, err error) {
	if !c.settled || !c.frameIsThere() {
		return false, nil
	}
	head, _ := c.reader.Peek(frameHeader) // they are there
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	kind, flags, stream := frame.FrameType(head[3]), frame.Flags(head[4]), binary.BigEndian.Uint32(head[5:])
	ended := flags.Has(frame.FlagDataEndStream) // of both kinds
	flags &^= frame.FlagDataEndStream
	data, headers := kind == frame.FrameData && flags == 0, kind == frame.FrameHeaders && flags == frame.FlagHeadersEndHeaders
	if stream == 0 || stream > streamNumberMax || !data && !headers {
		return false, nil
	}
	whole, _ := c.reader.Peek(frameHeader + length) // they are there
	if data {
		err = c.data(stream, ended, whole[frameHeader:], int64(length))
	} else {
		err = c.headers(stream, ended, whole[frameHeader:], true)
	}
	_, _ = c.reader.Discard(frameHeader + length) // they are there
	return true, err
}

// otherFrame reads a frame of any kind.
func (c *conn) otherFrame() error {
	c.input.left = inputMax
	f, err := c.framer.ReadFrame()
	if err == nil && !c.settled {
		if _, c.settled = f.(*frame.SettingsFrame); !c.settled {
			err = frame.ConnectionError(frame.ErrCodeProtocol)
		}
	}
	if err != nil {
		return err
	}
	return c.process(f)
}

// await waits until a frame can be read, which then comes whole within its time or not at
// all. A handler that could start waits no longer than until there is nothing to read.
func (c *conn) await() error {
	if c.frameIsThere() {
		return nil
	}
	if c.mayServe() {
		if !c.serveHere() {
			return errPassed
		}
	}
	c.startWaiting()
	for c.reader.Buffered() == 0 {
		if c.input.full && c.reader.Size() < readBufferLarge {
			c.reader = bufio.NewReaderSize(c.conn, readBufferLarge)
			c.input.reader = c.reader
		}
		c.frames.turn.Release()
		_, err := c.reader.Peek(1)
		if err == nil {
			c.heard, c.pinged = c.server.Now(), time.Time{}
			c.input.full = c.reader.Buffered() == c.reader.Size()
			break
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if err := c.silent(); err != nil {
			return err
		}
	}
	if c.frameIsThere() {
		return nil
	}
	c.heard = c.server.Now() // a part of a frame, also if others were there before it
	return c.setReadDeadline(c.heard.Add(limits.HeaderTimeout))
}

// frameIsThere reports whether the next frame, with what must follow it, was read already.
func (c *conn) frameIsThere() bool {
	if c.reader.Buffered() < frameHeader {
		return false
	}
	b, _ := c.reader.Peek(frameHeader) // they are there
	length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	headers := frame.FrameType(b[3]) == frame.FrameHeaders
	return c.reader.Buffered() >= frameHeader+length && (!headers || frame.Flags(b[4]).Has(frame.FlagHeadersEndHeaders))
}
