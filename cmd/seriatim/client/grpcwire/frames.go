package grpcwire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
)

// readFrame reads a frame and deals with it. Answers consist of frames of two kinds, which
// are taken from the buffer as they are.
func (c *Conn) readFrame() error {
	head, err := c.buffer.Peek(frameHeader)
	if err != nil {
		return err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	kind, flags, stream := http2.FrameType(head[3]), http2.Flags(head[4]), binary.BigEndian.Uint32(head[5:])
	switch {
	case length > frameBytesMax: // which is refused
	case kind == http2.FrameData && flags&^http2.FlagDataEndStream == 0,
		kind == http2.FrameHeaders && flags&^http2.FlagHeadersEndStream == http2.FlagHeadersEndHeaders:
		whole, err := c.buffer.Peek(frameHeader + length)
		if err != nil {
			return err
		}
		ended := flags.Has(http2.FlagDataEndStream) // of both kinds
		if content := whole[frameHeader:]; kind == http2.FrameData {
			err = c.received(stream, content, length, ended)
		} else {
			c.last = ended
			err = c.headers(stream, content, true)
		}
		_, _ = c.buffer.Discard(frameHeader + length) // they are there
		return err
	}
	return c.readOther()
}

// readOther reads a frame of any kind and deals with it.
func (c *Conn) readOther() error {
	frame, err := c.reader.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		return c.received(f.StreamID, f.Data(), int(f.Length), f.StreamEnded())
	case *http2.HeadersFrame:
		c.last = f.StreamEnded()
		return c.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return c.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.RSTStreamFrame:
		if f.StreamID == c.stream && !c.ended {
			c.ended, c.status, c.message = true, codes.Unavailable, "the stream was reset: "+f.ErrCode.String()
		}
	case *http2.GoAwayFrame:
		if f.LastStreamID < c.stream {
			return fmt.Errorf("the server goes away: %s", f.ErrCode)
		}
	case *http2.SettingsFrame, *http2.PingFrame, *http2.WindowUpdateFrame:
		return c.control(frame)
	}
	return nil
}

// received takes data, which came in so many bytes with padding.
func (c *Conn) received(from uint32, data []byte, length int, ended bool) error {
	if from == c.stream {
		c.data = append(c.data[:copy(c.data, c.data[c.taken:])], data...)
		c.taken = 0
		c.ended = c.ended || ended
		c.unread[0] += length
	}
	c.unread[1] += length
	for i, limit := range [2]int{streamWindow / 2, connectionWindow / 2} {
		if c.unread[i] < limit {
			continue
		}
		stream := [2]uint32{c.stream, 0}[i]
		c.mu.Lock()
		err := c.writer.WriteWindowUpdate(stream, uint32(c.unread[i]))
		if err == nil {
			err = c.flush()
		}
		c.mu.Unlock()
		if c.unread[i] = 0; err != nil {
			return err
		}
	}
	return nil
}

// control deals with frames that are about the connection.
func (c *Conn) control(frame http2.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.room.Broadcast()
	switch f := frame.(type) {
	case *http2.WindowUpdateFrame:
		switch f.StreamID {
		case 0:
			c.windows[1] += int64(f.Increment)
		case c.stream:
			c.windows[0] += int64(f.Increment)
		}
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(c.writer.WritePing(true, f.Data), c.flush())
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
			c.windows[0] += int64(size) - c.initial
			c.initial = int64(size)
		}
		if size, ok := f.Value(http2.SettingMaxFrameSize); ok {
			c.frame = int64(size)
		}
		return errors.Join(c.writer.WriteSettingsAck(), c.flush())
	}
	return nil
}
