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
func (l *link) readFrame() error {
	head, err := l.buffer.Peek(frameHeader)
	if err != nil {
		return err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	kind, flags, stream := http2.FrameType(head[3]), http2.Flags(head[4]), binary.BigEndian.Uint32(head[5:])
	switch {
	case length > frameBytesMax: // which is refused
	case kind == http2.FrameData && flags&^http2.FlagDataEndStream == 0,
		kind == http2.FrameHeaders && flags&^http2.FlagHeadersEndStream == http2.FlagHeadersEndHeaders:
		whole, err := l.buffer.Peek(frameHeader + length)
		if err != nil {
			return err
		}
		ended := flags.Has(http2.FlagDataEndStream) // of both kinds
		if content := whole[frameHeader:]; kind == http2.FrameData {
			err = l.received(stream, content, length, ended)
		} else {
			l.last = ended
			err = l.headers(stream, content, true)
		}
		_, _ = l.buffer.Discard(frameHeader + length) // they are there
		return err
	}
	return l.readOther()
}

// readOther reads a frame of any kind and deals with it.
func (l *link) readOther() error {
	frame, err := l.reader.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		return l.received(f.StreamID, f.Data(), int(f.Length), f.StreamEnded())
	case *http2.HeadersFrame:
		l.last = f.StreamEnded()
		return l.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return l.headers(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.RSTStreamFrame:
		if c := l.find(f.StreamID); c != nil {
			c.status, c.message = codes.Unavailable, "the stream was reset: "+f.ErrCode.String()
			l.end(c)
		}
	case *http2.GoAwayFrame:
		l.mu.Lock()
		defer l.mu.Unlock()
		for stream := range l.calls {
			if stream > f.LastStreamID {
				return fmt.Errorf("the server goes away: %s", f.ErrCode)
			}
		}
	case *http2.SettingsFrame, *http2.PingFrame, *http2.WindowUpdateFrame:
		return l.control(frame)
	}
	return nil
}

// received takes data, which came in so many bytes with padding.
func (l *link) received(stream uint32, data []byte, length int, ended bool) error {
	l.unread += length
	if c := l.find(stream); c != nil {
		c.data = append(c.data[:copy(c.data, c.data[c.taken:])], data...)
		c.taken = 0
		c.unread += length
		if ended {
			l.end(c)
		} else if err := l.tell(stream, &c.unread, streamWindow); err != nil {
			return err
		}
	}
	return l.tell(0, &l.unread, connectionWindow)
}

// tell tells the server what was read once that is half of a window.
func (l *link) tell(stream uint32, unread *int, window int) error {
	if *unread < window/2 {
		return nil
	}
	n := uint32(*unread)
	*unread = 0
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.writer.WriteWindowUpdate(stream, n), l.flush())
}

// control deals with frames that are about the connection.
func (l *link) control(frame http2.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.room.Broadcast()
	switch f := frame.(type) {
	case *http2.WindowUpdateFrame:
		if c := l.calls[f.StreamID]; c != nil {
			c.window += int64(f.Increment)
		} else if f.StreamID == 0 {
			l.window += int64(f.Increment)
		}
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return errors.Join(l.writer.WritePing(true, f.Data), l.flush())
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for _, c := range l.calls {
				c.window += int64(size) - l.initial
			}
			l.initial = int64(size)
		}
		if size, ok := f.Value(http2.SettingMaxFrameSize); ok {
			l.frame = int64(size)
		}
		return errors.Join(l.writer.WriteSettingsAck(), l.flush())
	}
	return nil
}
