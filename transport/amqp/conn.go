package amqp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// stage is the progress of a connection.
type stage uint8

const (
	beginning stage = iota // until the client's open
	opened
	leaving // no frame has an effect; closing follows when the handler has no message
	closing // a close was sent
	ended
)

// Conn is a connection. The goroutine of serve uses the first part. The mutex calls is held during
// calls of the handler, and mu guards the second part. The order is calls, then mu.
type Conn struct {
	// Value is for the handler.
	Value any

	server *Server
	net    net.Conn
	ctx    context.Context
	cancel context.CancelFunc
	guard  *unverified.Conn
	turn   unverified.Turn
	input  input
	idle   idleFrames
	state  wire.State // of the current disposition

	calls  sync.Mutex
	events []event // guarded by calls
	called int     // events before this one were handled

	mu        sync.Mutex
	stage     stage
	spoken    bool // the protocol header was sent
	openSent  bool
	output    output
	memory    memory
	sessions  map[uint16]*Session
	links     int
	receiving int                    // messages that the handler has not settled
	settled   sync.Cond              // receiving has become smaller
	partial   map[*Receiver]struct{} // links with an incomplete message
	starved   queue[*Sender]         // links whose Send had no room
	timer     timer
	readUntil time.Time // the deadline as set
	endUntil  time.Time // of beginning and closing
}

func newConn(s *Server, accepted net.Conn) *Conn {
	c := &Conn{server: s, net: accepted, guard: unverified.Of(accepted), sessions: make(map[uint16]*Session)}
	c.turn.Attach(c.guard)
	c.ctx, c.cancel = context.WithCancel(s.base)
	c.memory.ctx, c.memory.budget = c.ctx, s.Budget
	c.output.changed.L, c.settled.L = &c.mu, &c.mu
	c.output.frameMax = frameOutMax
	c.input.buffer = newBuffer(inputMin)
	c.endUntil = s.Now().Add(limits.HeaderTimeout)
	return c
}

// Context returns a context that ends with the connection.
func (c *Conn) Context() context.Context { return c.ctx }

// NetConn returns the connection below.
func (c *Conn) NetConn() net.Conn { return c.net }

// Verified notes that the client has proved that it has a key, or needs none. Until then the
// connection has small limits, and ends soon.
func (c *Conn) Verified() {
	var turn unverified.Turn
	turn.Attach(c.guard)
	turn.Verified()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.verified = true
}

// Refused notes a refused request: the connection loses its trust.
func (c *Conn) Refused() { c.guard.Refused(0) }

// Close closes the connection with an error, which may be nil.
func (c *Conn) Close(err *wire.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(err)
	c.wake()
}

// close sends a close. It needs the mutex.
func (c *Conn) close(err *wire.Error) {
	if c.stage >= closing {
		return
	}
	if c.spoken && !c.openSent {
		c.queueOpen()
	}
	if c.spoken {
		c.queueClose(err)
	}
	c.stage = closing
	c.settled.Broadcast()
	c.endUntil = c.server.Now().Add(lingering)
	_ = c.net.SetReadDeadline(c.endUntil) // fails only if the connection is gone
	c.readUntil = c.endUntil
}

// leave prepares the end of the server.
func (c *Conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.stage {
	case beginning:
		c.abort()
	case opened:
		c.stage = leaving
		c.leaveIfSettled()
	}
}

// leaveIfSettled closes a leaving connection when the handler has no message of it. It needs the
// mutex.
func (c *Conn) leaveIfSettled() {
	if c.stage == leaving && c.receiving == 0 {
		c.close(failure(ConnectionForced, "The node stops."))
		c.wake()
	}
}

// abort closes the connection below, which ends reading and writing.
func (c *Conn) abort() { _ = c.net.Close() }

// errEnded ends reading without an error of the client.
var errEnded = errors.New("the connection has ended")

// serve reads frames until the connection ends.
func (c *Conn) serve() {
	defer c.server.open.Remove(c)
	defer c.finish()
	defer c.recoverPanic()
	for err := c.begin(); err == nil || c.note(err); {
		err = c.readFrame()
	}
}

// note answers and counts an error of reading. It reports whether further frames can be read, to find
// the client's close.
func (c *Conn) note(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var of *wire.Error
	switch {
	case c.stage == closing:
	case errors.As(err, &of):
		c.close(of)
		return of.Condition != FramingError
	case errors.Is(err, wire.ErrMalformed):
		c.close(failure(DecodeError, err.Error()))
		return true
	case errors.Is(err, errProtocol), errors.Is(err, errSASL):
		c.stage, c.endUntil = closing, c.server.Now().Add(lingering)
	case errors.Is(err, os.ErrDeadlineExceeded):
		switch c.stage {
		case beginning:
			c.server.refused(limits.RefusedSilent, c.net, err)
		case opened:
			if c.input.start < c.input.end {
				c.server.refused(limits.RefusedSlow, c.net, err)
			}
			c.close(failure(ConnectionForced, "The connection was idle."))
			return true
		}
	}
	return false
}

// recoverPanic is deferred: a panic costs one connection, not the process.
func (c *Conn) recoverPanic() {
	panicked := recover()
	if panicked == nil {
		return
	}
	c.server.panics.Add(1)
	c.server.Logger.Error("panic while serving a connection, which is closed", "remote", c.net.RemoteAddr().String(),
		"panic", panicked, "stack", string(debug.Stack()))
	c.abort()
}

// finish writes what is left, closes the connection, and tells the handler.
func (c *Conn) finish() {
	c.turn.Release()
	if c.flushed() {
		c.discard()
	}
	c.abort()
	c.cancel()
	c.mu.Lock()
	for c.output.writing {
		c.output.changed.Wait()
	}
	c.stage = ended
	c.output.free()
	c.timer.stop()
	c.memory.end()
	c.mu.Unlock()
	c.input.buffer.free()
	c.endAll()
}

// flushed writes what is queued, within a short time, and reports whether a close was written that
// the client may not have read.
func (c *Conn) flushed() bool {
	_ = c.net.SetWriteDeadline(c.server.Now().Add(lingering)) // fails only if the connection is gone
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.corked = false
	c.wake()
	for c.output.writing {
		c.output.changed.Wait()
	}
	return c.stage == closing && c.output.failed == nil && !c.input.closed
}

// discard reads on until endUntil, because closing a connection with unread input would discard the written
// bytes. After discardMax bytes it only waits, so that a client that floods cannot connect again at once.
func (c *Conn) discard() {
	if c.net.SetReadDeadline(c.endUntil) != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, c.net, discardMax); err != nil { // the client has ended, or endUntil came
		return
	}
	select {
	case <-c.ctx.Done():
	case <-time.After(c.endUntil.Sub(c.server.Now())):
	}
}

// endAll tells the handler about the end of everything.
func (c *Conn) endAll() {
	c.calls.Lock()
	defer c.calls.Unlock()
	c.mu.Lock()
	for _, s := range c.sessions {
		s.end(nil)
	}
	c.mu.Unlock()
	c.events = append(c.events, event{of: c})
	for len(c.events) > 0 {
		c.dispatchRest()
	}
}

// dispatchRest makes the calls of the handler up to one that panics.
func (c *Conn) dispatchRest() {
	defer c.recoverPanic()
	c.dispatch()
}
