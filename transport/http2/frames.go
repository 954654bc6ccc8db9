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

// read reads frames until the connection ends or another goroutine takes over.
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

// frames manages the turns for reading frames of a connection that is not trusted. A handler that
// starts takes over the turn.
type frames struct {
	guard *unverified.Conn // below the connection; nil: none
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

// plainFrame processes the next frame if it is buffered and of the common kinds. It reports false if
// the framer must read it.
func (c *conn) plainFrame() (plain bool, err error) {
	if !c.begun || !c.frameBuffered() {
		return false, nil
	}
	head, _ := c.reader.Peek(frameHeader) // they are buffered
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	kind, flags, stream := frame.FrameType(head[3]), frame.Flags(head[4]), binary.BigEndian.Uint32(head[5:])
	ended := flags.Has(frame.FlagDataEndStream) // the same bit for headers
	flags &^= frame.FlagDataEndStream
	data, headers := kind == frame.FrameData && flags == 0, kind == frame.FrameHeaders && flags == frame.FlagHeadersEndHeaders
	if stream == 0 || stream > streamNumberMax || !data && !headers {
		return false, nil
	}
	whole, _ := c.reader.Peek(frameHeader + length) // they are buffered
	if data {
		err = c.data(stream, ended, whole[frameHeader:], int64(length))
	} else {
		err = c.headers(stream, ended, whole[frameHeader:], true)
	}
	_, _ = c.reader.Discard(frameHeader + length) // they are buffered
	return true, err
}

// otherFrame reads a frame of any kind.
func (c *conn) otherFrame() error {
	c.input.left = inputMax
	f, err := c.framer.ReadFrame()
	if err == nil && !c.begun {
		if _, c.begun = f.(*frame.SettingsFrame); !c.begun {
			err = frame.ConnectionError(frame.ErrCodeProtocol)
		}
	}
	if err != nil {
		return err
	}
	return c.process(f)
}

// await waits until a frame can be read, and sets the deadline for the rest of the frame. A waiting
// handler starts when no input is buffered.
func (c *conn) await() error {
	if c.frameBuffered() {
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
	if c.frameBuffered() {
		return nil
	}
	c.heard = c.server.Now() // a part of a frame is buffered
	return c.setReadDeadline(c.heard.Add(limits.HeaderTimeout))
}

// frameBuffered reports whether the next frame, with its continuations, is buffered.
func (c *conn) frameBuffered() bool {
	if c.reader.Buffered() < frameHeader {
		return false
	}
	b, _ := c.reader.Peek(frameHeader) // they are buffered
	length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	headers := frame.FrameType(b[3]) == frame.FrameHeaders
	return c.reader.Buffered() >= frameHeader+length && (!headers || frame.Flags(b[4]).Has(frame.FlagHeadersEndHeaders))
}
