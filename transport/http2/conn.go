package http2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

const (
	readBufferBytes = 4 << 10
	// readBufferLarge is the buffer of a connection that has filled a small one, so that one read
	// gets several requests.
	readBufferLarge = 32 << 10
	frameBytesMax   = 16 << 10 // of a frame, in both directions
	frameHeader     = 9        // bytes
	// windowAtFirst is the initial window of both sides (RFC 9113, 6.9.2).
	windowAtFirst = 65535
	windowMax     = 1<<31 - 1
	// streamNumberMax is the last stream id; the bit above it is reserved (RFC 9113, 4.1).
	streamNumberMax = 1<<31 - 1
)

// errSilent ends a connection without input.
var errSilent = errors.New("the client is silent")

// conn is one connection. The goroutine of serve uses the first part; all goroutines use the second
// part with mu.
type conn struct {
	server   *Server
	conn     net.Conn
	template *http.Request   // the common fields of all requests
	ctx      context.Context // of all requests of the connection
	cancel   context.CancelFunc
	reader   *bufio.Reader
	framer   *frame.Framer
	input    input        // read by framer
	block    *headerBlock // the last one
	heard    time.Time    // time of the last input
	pinged   time.Time    // time of a ping since then; zero: none
	idle     idleFrames
	begun    bool    // the first frame had the settings of the client
	waiting  *stream // its handler has not started, because more of the body may follow
	frames   frames
	alone    int         // consecutive requests without a concurrent one
	timer    *time.Timer // calls pass; nil before the first use
	serving  atomic.Bool // the goroutine that reads calls a handler

	mu      sync.Mutex
	output  output
	streams streams
	credit  credit // of all bodies together
	ending  ending
	stage   stage
}

// stage is the progress of a connection.
type stage int

const (
	unknown stage = iota // the protocol is not known yet
	open
	ended // or handed over
)

// ending is the state of a clean end.
type ending struct {
	announced bool      // GOAWAY was sent; no further streams are accepted
	until     time.Time // the connection is closed then; zero: when its streams have ended
}

func newConn(s *Server, accepted net.Conn) *conn {
	c := &conn{
		server: s, conn: accepted,
		template: &http.Request{Proto: "HTTP/2.0", ProtoMajor: 2, RemoteAddr: accepted.RemoteAddr().String()},
		reader:   bufio.NewReaderSize(accepted, readBufferBytes),
		streams:  streams{open: make(map[uint32]*stream), initialWindow: windowAtFirst, share: s.load.share(accepted.RemoteAddr())},
		credit:   credit{left: windowOfConn},
	}
	c.frames.guard = unverified.Of(accepted)
	c.frames.turn.Attach(c.frames.guard)
	c.input.reader, c.input.turn = c.reader, &c.frames.turn
	c.output.window = windowAtFirst
	c.output.wrote.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(connections.With(s.base, accepted))
	return c
}

// abort closes the connection before it cancels the handlers, so that none of them can answer.
func (c *conn) abort() {
	_ = c.conn.Close() // the connection is gone in any case
	c.cancel()
}

// serve serves the connection until its end.
func (c *conn) serve() {
	if c.begin() {
		c.server.work(job{reads: c})
		return
	}
	c.cancel()
	c.server.load.release(c.streams.share)
	c.server.open.Remove(c)
}

// readAll reads frames until the connection ends or another goroutine takes over.
func (c *conn) readAll() {
	if c.read() {
		return
	}
	c.frames.guard.Yield()
	defer c.server.open.Remove(c)
	c.mu.Lock()
	c.stage = ended
	c.fail(net.ErrClosed)
	c.mu.Unlock()
	c.abort()
	c.streams.handlers.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.output.writing { // until its write has failed
		c.output.wrote.Wait()
	}
	c.server.load.release(c.streams.share)
}

// recoverPanic is deferred around the code of this package: a panic costs one connection, not the
// process.
func (c *conn) recoverPanic() {
	panicked := recover()
	if panicked == nil {
		return
	}
	c.server.panics.Add(1)
	c.server.Logger.Error("panic while serving a connection, which is closed", "remote", c.template.RemoteAddr,
		"panic", panicked, "stack", string(debug.Stack()))
	c.abort()
}

// begin reads the preface and sends the settings. It reports false if the connection speaks another
// protocol or is gone.
func (c *conn) begin() bool {
	if c.setReadDeadline(c.server.Now().Add(limits.HeaderTimeout)) != nil {
		c.abort()
		return false
	}
	preface := []byte(frame.ClientPreface)
	for n := 1; n <= len(preface); n++ {
		got, err := c.reader.Peek(n)
		if err != nil { // only a part of the preface arrived
			c.abort()
			return false
		}
		if got[n-1] != preface[n-1] {
			c.handOver()
			return false
		}
	}
	_, _ = c.reader.Discard(len(preface)) // they are buffered
	if secure, ok := c.conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		state := secure.ConnectionState()
		c.template.TLS = &state
	}
	c.framer = frame.NewFramer(nil, &c.input)
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(frameBytesMax)
	c.block = newHeaderBlock()
	c.heard = c.server.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage == ended {
		return false
	}
	c.stage, c.streams.ended = open, c.heard
	limits.NoteRequest(c.conn)
	c.output.queued = appendSettings(c.output.queued,
		frame.Setting{ID: frame.SettingMaxConcurrentStreams, Val: streamsMax},
		frame.Setting{ID: frame.SettingInitialWindowSize, Val: windowOfStream},
		frame.Setting{ID: frame.SettingMaxHeaderListSize, Val: limits.HeaderBytesMax})
	c.output.queued = appendWindowUpdate(c.output.queued, 0, windowOfConn-windowAtFirst)
	return c.flush(false) == nil
}

// handOver passes the connection to Others, with the bytes read from it.
func (c *conn) handOver() {
	c.mu.Lock()
	ours := c.stage == unknown
	c.stage = ended
	c.mu.Unlock()
	if !ours {
		return
	}
	read, _ := c.reader.Peek(c.reader.Buffered()) // they are buffered
	_ = c.conn.SetDeadline(time.Time{})           // fails only if the connection is gone
	c.server.Others(http1.Replayed(c.conn, bytes.Clone(read)))
}

// refuse answers an error of the client. It reports false if the connection ends.
func (c *conn) refuse(err error) bool {
	var ofStream frame.StreamError
	var ofConn frame.ConnectionError
	switch {
	case errors.As(err, &ofStream):
		if !c.idle.add(c.heard) {
			return c.refuse(errIdleFrames)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams.last = max(c.streams.last, ofStream.StreamID)
		c.reset(ofStream.StreamID, ofStream.Code)
		return c.flush(false) == nil
	case errors.As(err, &ofConn):
		if ofConn == errIdleFrames {
			c.server.refused(limits.RefusedFlood, c.conn, err)
		}
		c.breakOff(frame.ErrCode(ofConn))
	case errors.Is(err, frame.ErrFrameTooLarge):
		c.breakOff(frame.ErrCodeFrameSize)
	}
	return false
}

// breakOff sends GOAWAY with an error, and reads on for a while: closing a connection with unread
// input would discard the written bytes.
func (c *conn) breakOff(code frame.ErrCode) {
	c.frames.guard.Yield()
	c.cancel()
	c.mu.Lock()
	c.output.queued = appendGoAway(c.output.queued, c.streams.last, code)
	err := c.flush(true)
	c.ending.announced = true
	c.ending.until = c.server.Now().Add(lingering)
	c.mu.Unlock()
	if err == nil && c.setReadDeadline(c.ending.until) == nil {
		_, _ = io.Copy(io.Discard, c.conn) // until ending.until
	}
}

// silent is called when nothing came until the deadline of reading.
func (c *conn) silent() error {
	now := c.server.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ending.until.IsZero() && !now.Before(c.ending.until) {
		return errSilent
	}
	next := c.heard.Add(pingAfter)
	if len(c.streams.open) == 0 { // an idle connection keeps little memory
		for _, st := range c.streams.kept {
			st.cancel()
		}
		c.streams.kept = nil
	}
	switch {
	case !c.pinged.IsZero():
		if next = c.pinged.Add(pingTimeout); !now.Before(next) {
			return errSilent
		}
	case len(c.streams.open) == 0 && now.Sub(c.streams.ended) >= limits.IdleTimeout && !now.Before(next):
		c.announceEnd(now)
		next = c.ending.until
	case !now.Before(next):
		c.pinged, next = now, now.Add(pingTimeout)
		c.output.queued = appendPing(c.output.queued, false, [8]byte{'s', 'i', 'l', 'e', 'n', 't'})
	}
	if err := c.flush(false); err != nil {
		return err
	}
	return c.setReadDeadlineLocked(next)
}

func (c *conn) setReadDeadline(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setReadDeadlineLocked(until)
}

// setReadDeadlineLocked sets a deadline that is not after the end of the connection. It
// needs the mutex.
func (c *conn) setReadDeadlineLocked(until time.Time) error {
	if end := c.ending.until; !end.IsZero() && end.Before(until) {
		until = end
	}
	return c.conn.SetReadDeadline(until)
}

// leave asks the client to send no further requests.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announceEnd(c.server.Now())
	_ = c.flush(false) // an error ends the connection anyway
}

// endIfIdle ends the connection if it has no requests.
func (c *conn) endIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage == open && len(c.streams.open) == 0 {
		c.announceEnd(c.server.Now())
		_ = c.flush(false) // an error ends the connection anyway
	}
}

// announceEnd sends GOAWAY, and ends the connection as soon as it has no streams. It needs the
// mutex.
func (c *conn) announceEnd(now time.Time) {
	if c.stage != open {
		if c.stage == unknown {
			c.stage = ended
			_ = c.conn.Close() // the connection is gone in any case
		}
		return
	}
	if !c.ending.announced {
		c.ending.announced = true
		c.output.queued = appendGoAway(c.output.queued, c.streams.last, frame.ErrCodeNo)
	}
	if len(c.streams.open) == 0 && c.ending.until.IsZero() {
		c.ending.until = now.Add(lingering)
		_ = c.conn.SetReadDeadline(c.ending.until) // an error ends the connection anyway
	}
}
