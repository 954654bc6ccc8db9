package http2

import (
	"context"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/limits"
)

// idleFrames counts idle frames (see Threats). Used by one goroutine.
type idleFrames struct {
	since time.Time
	n     int
}

// errIdleFrames ends a connection with too many idle frames.
const errIdleFrames = frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)

// add counts a frame. It reports false after too many.
func (i *idleFrames) add(now time.Time) bool {
	if now.Sub(i.since) >= time.Second {
		i.since, i.n = now, 0
	}
	i.n++
	return i.n <= idleFramesMax
}

// countIdle counts an idle frame, and ends a connection without other frames. It needs the mutex.
func (c *conn) countIdle() error {
	if !c.idle.add(c.heard) {
		return errIdleFrames
	}
	if len(c.streams.open) == 0 && c.heard.Sub(c.streams.ended) >= limits.IdleTimeout {
		c.announceEnd(c.heard)
		return c.flush(false)
	}
	return nil
}

// process processes a frame. The error is that of the connection or of a stream.
func (c *conn) process(f frame.Frame) error {
	switch f := f.(type) {
	case *frame.HeadersFrame:
		return c.headers(f.StreamID, f.StreamEnded(), f.HeaderBlockFragment(), f.HeadersEnded())
	case *frame.DataFrame:
		return c.data(f.StreamID, f.StreamEnded(), f.Data(), int64(f.Length))
	case *frame.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *frame.PushPromiseFrame:
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.countIdle(); err != nil {
		return err
	}
	switch f := f.(type) {
	case *frame.SettingsFrame:
		if f.IsAck() {
			break
		}
		if err := c.settings(f); err != nil {
			return err
		}
		c.output.queued = appendSettingsAck(c.output.queued)
	case *frame.PingFrame:
		if f.IsAck() {
			break
		}
		c.output.queued = appendPing(c.output.queued, true, f.Data)
	case *frame.RSTStreamFrame:
		if err := c.neverOpened(f.StreamID); err != nil {
			return err
		}
		if st := c.streams.open[f.StreamID]; st != nil {
			c.lose(st, context.Canceled)
		}
	case *frame.GoAwayFrame:
		c.announceEnd(c.heard)
	}
	return c.flush(false)
}

// settings applies the settings of the client. It needs the mutex.
func (c *conn) settings(f *frame.SettingsFrame) error {
	if f.NumSettings() > settingsMax {
		return errIdleFrames
	}
	window := c.streams.initialWindow
	err := f.ForeachSetting(func(s frame.Setting) error {
		switch s.ID {
		case frame.SettingInitialWindowSize:
			window = int64(s.Val)
		case frame.SettingHeaderTableSize:
			c.output.tableless = true
		default: // frames never exceed the smallest possible limit
		}
		return s.Valid()
	})
	change := window - c.streams.initialWindow
	if err != nil || change == 0 {
		return err
	}
	c.streams.initialWindow = window
	for _, st := range c.streams.open { // once for a frame, however often it changes the window
		if err := st.widen(change); err != nil {
			return frame.ConnectionError(frame.ErrCodeFlowControl)
		}
	}
	return nil
}

// widen changes the window of a stream, and wakes the stream if it waited: waking all streams would
// cost much more than sending the frame. It needs the mutex.
func (st *stream) widen(change int64) error {
	before := st.window
	if st.window += change; st.window > windowMax {
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeFlowControl}
	}
	if before <= 0 && st.window > 0 {
		st.changed.Broadcast()
	}
	return nil
}

func (c *conn) windowUpdate(f *frame.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.output.updates > 0 {
		c.output.updates--
	} else if err := c.countIdle(); err != nil {
		return err
	}
	if f.StreamID == 0 {
		before := c.output.window
		if c.output.window += int64(f.Increment); c.output.window > windowMax {
			return frame.ConnectionError(frame.ErrCodeFlowControl)
		}
		if before > 0 {
			return nil // no stream waited for it
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
	return st.widen(int64(f.Increment))
}

// data adds a part of a body. The length includes the padding.
func (c *conn) data(stream uint32, ended bool, data []byte, length int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.streams.open[stream]
	over := st == nil || st.over || st.body.ended // the client may not know yet that the stream has ended
	if over || len(data) == 0 && !ended {
		if err := c.countIdle(); err != nil {
			return err
		}
	}
	if err := c.neverOpened(stream); err != nil {
		return err
	}
	if !c.credit.take(length) {
		return frame.ConnectionError(frame.ErrCodeFlowControl)
	}
	if over {
		c.giveBack(nil, length)
		if st != nil && !st.over {
			return frame.StreamError{StreamID: stream, Code: frame.ErrCodeStreamClosed}
		}
		return c.flush(false)
	}
	if !st.credit.take(length) {
		c.giveBack(nil, length)
		return frame.StreamError{StreamID: stream, Code: frame.ErrCodeFlowControl}
	}
	st.body.add(data)
	c.giveBack(st, length-int64(len(data))) // the padding
	if st.body.closed {
		c.giveBack(nil, int64(len(data)))
	}
	st.body.ended = ended
	if st.body.wrong() {
		return frame.StreamError{StreamID: stream, Code: frame.ErrCodeProtocol}
	}
	st.changed.Broadcast()
	return c.flush(false)
}

// neverOpened returns the error of a frame for a stream that was never opened. Streams opened after
// GOAWAY are ignored.
func (c *conn) neverOpened(id uint32) error {
	if id%2 == 1 && id <= c.streams.last || c.ending.announced {
		return nil
	}
	return frame.ConnectionError(frame.ErrCodeProtocol)
}
