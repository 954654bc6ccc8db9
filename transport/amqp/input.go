package amqp

import (
	"bytes"
	"io"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

const (
	// inputMin is the buffer of a connection that has read little.
	inputMin = 4 << 10
	// beginningMax bounds the frames before the open of a client has been answered.
	beginningMax = 8 << 10
	// deadlineSlack is added to the idle time-out, because moving a deadline costs as much as a
	// small frame.
	deadlineSlack = 30 * time.Second
)

// input holds the bytes that a connection has read and not yet used. Used by the goroutine that
// reads.
type input struct {
	buffer     *buffer // [start:end] was read and not yet used
	start, end int
	full       bool      // the last read has filled the buffer
	since      time.Time // the beginning of an incomplete frame that was incomplete before; zero: none
	heard      time.Time // of the last input
	inTurn     int       // frames in this turn
	begun      bool      // the client's open was answered
	closed     bool      // the client's close has come
}

func (in *input) unused() []byte { return in.buffer.bytes[in.start:in.end] }

// nextFrame reads a frame. Its body is valid until the next call.
func (c *Conn) nextFrame() (h wire.FrameHeader, body []byte, err error) {
	in := &c.input
	for {
		unused, need := in.unused(), wire.HeaderBytes
		if len(unused) >= wire.HeaderBytes {
			if h, err = wire.ReadFrameHeader(unused); err != nil {
				return h, nil, failure(FramingError, err.Error())
			}
			if h.Size > c.frameMax() {
				return h, nil, failure(FramingError, "The frame is larger than the maximum frame size.")
			}
			if need = int(h.Size); len(unused) >= need {
				in.start += need
				in.since = time.Time{}
				return h, unused[h.Offset:need:need], nil
			}
		}
		if err := c.read(); err != nil {
			return h, nil, err
		}
	}
}

// frameMax returns the largest frame that the client may send now.
func (c *Conn) frameMax() uint32 {
	if c.input.begun {
		return frameBytesMax
	}
	return beginningMax
}

// read reads more into the buffer.
func (c *Conn) read() error {
	if err := c.makeRoom(); err != nil {
		return err
	}
	if err := c.prepareRead(); err != nil {
		return err
	}
	in := &c.input
	space := in.buffer.bytes[in.end:cap(in.buffer.bytes)]
	n, err := c.net.Read(space)
	in.end += n
	in.buffer.bytes = in.buffer.bytes[:in.end]
	in.full = n == len(space)
	if n == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return err
	}
	in.heard = c.server.Now()
	c.mu.Lock()
	c.output.corked = true
	c.mu.Unlock()
	return nil
}

// prepareRead lets the writer start, and sets the deadline.
func (c *Conn) prepareRead() error {
	now, in := c.server.Now(), &c.input
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause()
	until := now.Add(idleTimeout)
	latest := until.Add(deadlineSlack)
	switch {
	case c.stage == beginning || c.stage == closing:
		until, latest = c.endUntil, c.endUntil
	case in.start == in.end:
	case in.since.IsZero():
		in.since = now
	default:
		until = in.since.Add(limits.BodyTimeout)
		if len(in.buffer.bytes) > inputMin && c.server.Budget.Scarce() {
			until = in.since.Add(limits.ScarceTimeout)
		}
		latest = until
	}
	if !c.readUntil.Before(until) && !c.readUntil.After(latest) {
		return nil
	}
	c.readUntil = latest
	return c.net.SetReadDeadline(latest)
}

// makeRoom makes room in the buffer. A buffer that was filled is replaced by one of the next size,
// which is at most four times the bytes that have arrived, and a large empty one by a small one.
func (c *Conn) makeRoom() error {
	in := &c.input
	unused := in.unused()
	size, next := cap(in.buffer.bytes), cap(in.buffer.bytes)
	switch {
	case in.full && size < frameBytesMax:
		next = bufferSize(size + 1)
	case len(unused) == 0 && size > inputMin && in.end <= size/4:
		next = inputMin
	}
	if next == size || next > size && !c.growInput(next-size, len(unused) == size) {
		if len(unused) == size {
			return failure(ConnectionForced, "The node has no memory for a frame.")
		}
		if in.start > 0 {
			copy(in.buffer.bytes, unused)
			in.start, in.end = 0, len(unused)
			in.buffer.bytes = in.buffer.bytes[:in.end]
		}
		return nil
	}
	if next < size {
		c.mu.Lock()
		c.memory.shrink(structure, int64(size-next))
		c.mu.Unlock()
	}
	replaced := in.buffer
	in.buffer = newBuffer(next)
	in.buffer.bytes = append(in.buffer.bytes, unused...)
	in.start, in.end = 0, len(unused)
	replaced.free()
	return nil
}

// growInput takes memory for a larger buffer. It waits for the budget only if the buffer is full.
func (c *Conn) growInput(n int, wait bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.grow(structure, int64(n)) || wait && c.awaitBudget(int64(n)) && c.memory.grow(structure, int64(n))
}

// awaitBudget takes n bytes from the budget in advance. It needs the mutex, and releases it while it
// waits.
func (c *Conn) awaitBudget(n int64) bool {
	if c.memory.cover(n) {
		return true
	}
	need := c.memory.uncovered(n)
	c.pause()
	c.mu.Unlock()
	err := c.server.Budget.Acquire(c.ctx, need, budget.WaitMax)
	c.mu.Lock()
	if err != nil {
		return false
	}
	c.memory.taken += need
	return true
}

// pause lets the writer start, and gives up the turn, before the reading goroutine waits. It needs
// the mutex.
func (c *Conn) pause() {
	c.output.corked = false
	c.wake()
	c.turn.Release()
}

// awaitRoom waits until there is room for the effects of a frame: in the output for answers, and in
// memory for a message.
func (c *Conn) awaitRoom(channel uint16, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.output.queued.content()) > outputMax && c.output.failed == nil {
		c.pause()
		c.output.changed.Wait()
	}
	if c.output.failed != nil {
		return errEnded
	}
	if !bytes.HasPrefix(body, transferPrefix) || c.stage != opened {
		return nil
	}
	size := int64(bufferSize(len(body)) + deliveryBytes)
	if len(c.partial) > 0 || !c.memory.cover(size) {
		size = c.growth(channel, body)
	}
	// The handler settles what it has without further input.
	for c.receiving > 0 && c.memory.held[incoming]+size > c.memory.limit(incoming) && c.stage == opened {
		c.pause()
		c.settled.Wait()
	}
	c.awaitBudget(size) // without it the message is refused
	return nil
}

// growth returns the memory that a transfer needs: 0 without effect. It needs the mutex.
func (c *Conn) growth(channel uint16, body []byte) int64 {
	_, list, payload, err := wire.ReadPerformative(body)
	s := c.sessions[channel]
	if err != nil || s == nil || s.ended {
		return 0
	}
	t, err := wire.ReadTransfer(list)
	v := s.links[t.Handle].receiver
	if err != nil || v == nil || v.state != attached {
		return 0
	}
	return v.growth(len(payload))
}

// transferPrefix is the usual beginning of a transfer.
var transferPrefix = wire.AppendDescriptor(nil, wire.CodeTransfer)

// takeTurn takes a turn for a frame, unless the client has proved that it has a key.
func (c *Conn) takeTurn() {
	if c.input.inTurn++; c.input.inTurn > framesPerTurn {
		c.turn.Release()
		c.input.inTurn = 1
	}
	if c.turn.Held() {
		return
	}
	c.mu.Lock()
	c.pause()
	c.mu.Unlock()
	c.turn.Begin()
}
