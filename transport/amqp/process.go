package amqp

import (
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
)

// idleFrames counts frames without effect. Used by the goroutine that reads.
type idleFrames struct {
	since time.Time
	n     int
	bytes int // of the frame that is being processed
}

// errFlood ends a connection with too many idle frames.
var errFlood = failure(ResourceLimitExceeded, "Too many frames without effect.")

// countIdle counts the frame that is being processed, which has no effect.
func (c *Conn) countIdle() error {
	i := &c.idle
	if c.input.heard.Sub(i.since) >= time.Second {
		i.since, i.n = c.input.heard, 0
	}
	if i.n += 1 + i.bytes/idleBytes; i.n > idleFramesMax {
		c.server.refused(limits.RefusedFlood, c.net, errFlood)
		return errFlood
	}
	return nil
}

// event is a call of the handler.
type event struct {
	kind    eventKind
	settled bool // an outcome, by the client
	of      any
	err     *wire.Error
}

type eventKind uint8

// The kinds of events that their type does not tell.
const (
	ordinary eventKind = iota
	requestAbandoned
	linkEnded
)

// eventsKept bounds the memory that a connection keeps for its next events.
const eventsKept = 128

// dispatch makes the calls of the handler. It needs the mutex calls.
func (c *Conn) dispatch() {
	for c.called < len(c.events) {
		e := &c.events[c.called]
		c.called++ // also if the call panics
		c.call(e)
	}
	clear(c.events)
	if c.events, c.called = c.events[:0], 0; cap(c.events) > eventsKept {
		c.events = nil
	}
}

// call makes one call.
func (c *Conn) call(e *event) {
	h := c.server.Handler
	switch of := e.of.(type) {
	case *Request:
		if e.kind == requestAbandoned {
			h.Abandoned(of)
			return
		}
		h.Attach(of)
	case *Delivery:
		of.receiver.handler.Received(of)
	case *Sent:
		of.sender.handler.Disposition(of, &c.state, e.settled)
	case *Receiver:
		of.handler.Ended(e.err)
	case *Sender:
		if e.kind == linkEnded {
			of.handler.Ended(e.err)
		} else if of.attached() {
			of.handler.Flow(of)
		}
	case *Session:
		h.SessionEnded(of)
	case *Conn:
		h.Ended(of)
	}
}

// readFrame reads a frame, and processes it.
func (c *Conn) readFrame() error {
	h, body, err := c.nextFrame()
	if err != nil {
		return err
	}
	if h.Type != wire.FrameAMQP {
		return failure(FramingError, "The frame is of an unknown type.")
	}
	if c.idle.bytes = len(body); len(body) == 0 {
		return c.countIdle()
	}
	c.takeTurn()
	if err := c.awaitRoom(h.Channel, body); err != nil {
		return err
	}
	c.calls.Lock()
	defer c.calls.Unlock()
	if err := c.process(h.Channel, body); err != nil {
		return err
	}
	c.dispatch()
	return nil
}

// process processes the body of a frame. The events of an error are left for the end.
func (c *Conn) process(channel uint16, body []byte) error {
	code, list, payload, err := wire.ReadPerformative(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != opened && code != wire.CodeClose {
		return c.countIdle()
	}
	switch code {
	case wire.CodeBegin:
		return c.beginSession(channel, list)
	case wire.CodeClose:
		_, err := wire.ReadEnding(list)
		c.input.closed = true
		if err == nil {
			c.close(nil)
			return errEnded
		}
		return err
	case wire.CodeOpen:
		return failure(NotAllowed, "A second open.")
	}
	s := c.sessions[channel]
	if s == nil {
		return failure(NotAllowed, "The channel has no session.")
	}
	if s.ended {
		if code == wire.CodeEnd {
			delete(c.sessions, channel)
			c.memory.shrink(structure, sessionBytes)
			return nil
		}
		return c.countIdle()
	}
	switch code {
	case wire.CodeAttach:
		return s.attach(list)
	case wire.CodeFlow:
		return s.flow(list)
	case wire.CodeTransfer:
		return s.transfer(list, payload)
	case wire.CodeDisposition:
		return s.disposition(list)
	case wire.CodeDetach:
		return s.detach(list)
	case wire.CodeEnd:
		return s.endByClient(list)
	}
	return failure(NotAllowed, "An unknown performative.")
}
