package amqp

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
)

const (
	// outputMax bounds the bytes to write. Messages wait in their links, and no frame is processed,
	// while there are more.
	outputMax = 32 << 10
	// frameOutMax bounds the frames to write, so that they fit into a buffer of 64 KiB.
	frameOutMax = 32 << 10
	// frameOutMin is the smallest maximum frame size of a client (specification 2.7.1).
	frameOutMin = 512
	// descriptionMax bounds the descriptions of errors.
	descriptionMax = 1 << 10
)

// output buffers the outgoing frames of a connection. One goroutine at a time writes, and it lives
// only as long as there is something to write.
type output struct {
	frameMax int // of the client, or frameOutMax
	queued   *buffer
	charge   int64          // bytes of messages in queued
	last     tail           // the frame at the end of queued
	ring     queue[*Sender] // links that may send a frame
	corked   bool           // the reading goroutine starts the writer soon
	writing  bool           // a goroutine writes
	failed   error          // of writing
	changed  sync.Cond      // writing, failed or queued has changed
	wrote    time.Time
	until    time.Time // the deadline as set
}

// tail describes a disposition at the end of the output, which a further one may extend.
type tail struct {
	at      int // its beginning
	end     int // its end; 0: there is none
	session *Session
	role    wire.Role
	code    uint64
	id      uint32 // the last one
}

func (b *buffer) content() []byte {
	if b == nil {
		return nil
	}
	return b.bytes
}

// frame is a performative.
type frame interface{ Append(b []byte) []byte }

// queueFrame appends a frame. It needs the mutex; the caller calls wake.
func (c *Conn) queueFrame(channel uint16, f frame) {
	start := c.beginFrame(wire.FrameAMQP, channel)
	b := f.Append(c.output.queued.bytes)
	c.output.queued.bytes = wire.EndFrame(b, start)
}

// beginFrame appends a frame header, and returns where it begins.
func (c *Conn) beginFrame(kind uint8, channel uint16) (start int) {
	if c.output.queued == nil {
		c.output.queued = newBuffer(inputMin)
	}
	start = len(c.output.queued.bytes)
	c.output.queued.bytes = wire.BeginFrame(c.output.queued.bytes, kind, channel)
	return start
}

func (c *Conn) queueClose(err *wire.Error) {
	start := c.beginFrame(wire.FrameAMQP, 0)
	c.output.queued.bytes = wire.EndFrame(wire.AppendClose(c.output.queued.bytes, clamped(err)), start)
}

// clamped returns an error with a bounded description.
func clamped(err *wire.Error) *wire.Error {
	if err == nil || len(err.Description) <= descriptionMax {
		return err
	}
	short := *err
	short.Description = strings.ToValidUTF8(short.Description[:descriptionMax], "")
	return &short
}

// queueDisposition appends a disposition of one delivery, or extends the one before.
func (c *Conn) queueDisposition(s *Session, role wire.Role, id uint32, state *wire.State) {
	o := &c.output
	plain := state.Code == wire.CodeAccepted || state.Code == wire.CodeReleased
	if t := &o.last; plain && t.end > 0 && t.end == len(o.queued.content()) && t.session == s && t.role == role && t.code == state.Code &&
		id == t.id+1 {
		t.id = id
		wire.ExtendDisposition(o.queued.bytes[t.at:], id)
		return
	}
	start := c.beginFrame(wire.FrameAMQP, s.channel)
	d := wire.Disposition{Role: role, First: id, Last: id, Settled: true}
	o.queued.bytes = wire.EndFrame(d.AppendWith(o.queued.bytes, state), start)
	o.last = tail{}
	if plain {
		o.last = tail{at: start, end: len(o.queued.bytes), session: s, role: role, code: state.Code, id: id}
	}
}

// wake starts the writer if there is something to write. It needs the mutex.
func (c *Conn) wake() {
	o := &c.output
	if o.writing || o.failed != nil || c.stage == ended || len(o.queued.content()) == 0 && o.ring.len() == 0 {
		return
	}
	if o.corked && len(o.queued.content()) < outputMax {
		return
	}
	o.writing = true
	go c.writeAll()
}

// writeAll writes until nothing is left.
func (c *Conn) writeAll() {
	ended := false
	defer func() {
		if !ended {
			c.fail(errEnded) // a panic has closed the connection
		}
	}()
	defer c.recoverPanic()
	runtime.Gosched() // other ready goroutines append more: a commit completes many calls at once
	for {
		b, charge := c.takeOutput()
		if b == nil {
			ended = true
			return
		}
		err := c.write(b.bytes)
		b.free()
		if c.written(charge, err) {
			c.offerRoom()
		}
	}
}

// fail ends the writer.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.failed, c.output.writing = err, false
	c.output.changed.Broadcast()
}

// takeOutput takes the frames to write, nil if there are none. The writer has ended then.
func (c *Conn) takeOutput() (*buffer, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.output
	if o.failed == nil {
		c.fill()
	}
	b := o.queued
	if o.failed != nil || len(b.content()) == 0 {
		o.writing = false
		o.changed.Broadcast()
		return nil, 0
	}
	charge := o.charge
	o.queued, o.charge, o.last = nil, 0, tail{}
	return b, charge
}

// fill appends frames of messages while there is room, one of each link in turn.
func (c *Conn) fill() {
	for c.output.ring.len() > 0 && len(c.output.queued.content()) < outputMax {
		s := c.output.ring.pop()
		s.queued = false
		if s.sendFrame() {
			s.enqueue()
		}
	}
}

// written notes the end of a write. It reports whether links wait for room.
func (c *Conn) written(charge int64, err error) (starved bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.shrink(outgoing, charge)
	c.output.wrote = c.server.Now()
	if err != nil {
		c.output.failed = err
		if errors.Is(err, os.ErrDeadlineExceeded) && c.stage < closing {
			c.server.refused(limits.RefusedSlow, c.net, err)
		}
		c.abort()
	}
	c.output.changed.Broadcast()
	return c.starved.len() > 0 && err == nil
}

// write writes b with the deadline for its size.
func (c *Conn) write(b []byte) error {
	now := c.server.Now()
	limit := limits.WriteLimit(int64(len(b)), c.server.Budget.Scarce())
	if left := c.output.until.Sub(now); left < limit || left > limit+deadlineSlack {
		c.output.until = now.Add(limit)
		if limit == limits.WriteTimeout {
			c.output.until = c.output.until.Add(deadlineSlack)
		}
		if err := c.net.SetWriteDeadline(c.output.until); err != nil {
			return err
		}
	}
	_, err := c.net.Write(b)
	return err
}

// free drops what was not written.
func (o *output) free() {
	o.queued.free()
	o.queued, o.charge = nil, 0
}
