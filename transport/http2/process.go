package http2

import (
	"context"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/http1"
)

// idleFrames counts frames that bring nothing. Used by one goroutine.
type idleFrames struct {
	since time.Time
	n     int
}

// errIdleFrames ends a connection that keeps the server busy with nothing.
const errIdleFrames = frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)

// add counts one. It reports false if there were too many.
func (i *idleFrames) add(now time.Time) bool {
	if now.Sub(i.since) >= time.Second {
		i.since, i.n = now, 0
	}
	i.n++
	return i.n <= idleFramesMax
}

// process deals with a frame. The error is of the connection, or of a stream.
func (c *conn) process(f frame.Frame) error {
	switch f := f.(type) {
	case *frame.MetaHeadersFrame:
		return c.headers(f)
	case *frame.DataFrame:
		return c.data(f)
	case *frame.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *frame.PushPromiseFrame:
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	if !c.idle.add(c.heard) {
		return errIdleFrames
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f := f.(type) {
	case *frame.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if err := c.settings(f); err != nil {
			return err
		}
		c.out = appendSettingsAck(c.out)
	case *frame.PingFrame:
		if f.IsAck() {
			return nil
		}
		if len(c.streams.open) == 0 && c.heard.Sub(c.streams.ended) >= http1.IdleTimeout {
			c.sayEnd(c.heard)
		}
		c.out = appendPing(c.out, true, f.Data)
	case *frame.RSTStreamFrame:
		if err := c.neverOpened(f.StreamID); err != nil {
			return err
		}
		if st := c.streams.open[f.StreamID]; st != nil {
			c.lose(st, context.Canceled)
		}
	case *frame.GoAwayFrame:
		c.sayEnd(c.heard)
	}
	return c.flush(false)
}

// settings takes over what the client permits. It needs the mutex.
func (c *conn) settings(f *frame.SettingsFrame) error {
	if f.NumSettings() > settingsMax {
		return errIdleFrames // each change of a window goes through all streams
	}
	return f.ForeachSetting(func(s frame.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case frame.SettingInitialWindowSize:
		case frame.SettingHeaderTableSize:
			c.tableless = true
			return nil
		default: // frames are never larger than the least that it may permit
			return nil
		}
		change := int64(s.Val) - c.streams.initialWindow
		c.streams.initialWindow = int64(s.Val)
		for _, st := range c.streams.open {
			if st.window += change; st.window > windowMax {
				return frame.ConnectionError(frame.ErrCodeFlowControl)
			}
			st.changed.Broadcast()
		}
		return nil
	})
}

// windowUpdate lets more be sent.
func (c *conn) windowUpdate(f *frame.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		if c.window += int64(f.Increment); c.window > windowMax {
			return frame.ConnectionError(frame.ErrCodeFlowControl)
		}
		for _, st := range c.streams.open {
			st.changed.Broadcast()
		}
		return nil
	}
	if err := c.neverOpened(f.StreamID); err != nil {
		return err
	}
	st := c.streams.open[f.StreamID]
	if st == nil {
		return nil
	}
	if st.window += int64(f.Increment); st.window > windowMax {
		return frame.StreamError{StreamID: f.StreamID, Code: frame.ErrCodeFlowControl}
	}
	st.changed.Broadcast()
	return nil
}

// data takes a part of a body.
func (c *conn) data(f *frame.DataFrame) error {
	data, length := f.Data(), int64(f.Length)
	if length == 0 && !f.StreamEnded() && !c.idle.add(c.heard) {
		return errIdleFrames
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.neverOpened(f.StreamID); err != nil {
		return err
	}
	if !c.credit.take(length) {
		return frame.ConnectionError(frame.ErrCodeFlowControl)
	}
	st := c.streams.open[f.StreamID]
	if st == nil || st.over || st.body.ended { // the client may not know yet that the stream is over
		c.giveBack(nil, length)
		if st != nil && !st.over {
			return frame.StreamError{StreamID: f.StreamID, Code: frame.ErrCodeStreamClosed}
		}
		return c.flush(false)
	}
	if !st.credit.take(length) {
		c.giveBack(nil, length)
		return frame.StreamError{StreamID: f.StreamID, Code: frame.ErrCodeFlowControl}
	}
	st.body.add(data)
	c.giveBack(st, length-int64(len(data))) // the padding
	if st.body.closed {
		c.giveBack(nil, int64(len(data)))
	}
	st.body.ended = f.StreamEnded()
	if st.body.wrong() {
		return frame.StreamError{StreamID: f.StreamID, Code: frame.ErrCodeProtocol}
	}
	st.changed.Broadcast()
	return c.flush(false)
}

// neverOpened is the error of a frame for a stream that was never opened. Those that a client opens
// after it was told not to are ignored.
func (c *conn) neverOpened(id uint32) error {
	if id%2 == 1 && id <= c.streams.last || c.ending.said {
		return nil
	}
	return frame.ConnectionError(frame.ErrCodeProtocol)
}
