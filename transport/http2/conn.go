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

	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

const (
	readBufferBytes = 4 << 10
	// readBufferLarge is the buffer of a connection that has filled a small one: one read brings
	// the requests of all who share it.
	readBufferLarge = 32 << 10
	frameBytesMax   = 16 << 10 // of a frame, in both directions
	frameHeader     = 9        // bytes of what is before the content of a frame
	// windowAtFirst is the initial window of both sides (RFC 9113, 6.9.2).
	windowAtFirst = 65535
	windowMax     = 1<<31 - 1
	// streamNumberMax is the last; the bit above it means nothing (RFC 9113, 4.1).
	streamNumberMax = 1<<31 - 1
)

// errSilent ends a connection of which nothing is heard.
var errSilent = errors.New("the client is silent")

// conn is one connection. Its first part is used by the goroutine of serve, the
// second by all, with mu.
type conn struct {
	server   *Server
	conn     net.Conn
	template *http.Request   // what all requests of the connection have
	ctx      context.Context // of all requests of the connection
	cancel   context.CancelFunc
	reader   *bufio.Reader
	framer   *frame.Framer
	input    input        // what framer reads
	block    *headerBlock // the last one
	heard    time.Time    // when anything came last
	pinged   time.Time    // when the client was asked after that; zero: it was not
	idle     idleFrames
	settled  bool    // the client has begun with its settings, as it must
	waiting  *stream // whose handler has not started, since more of the body may be there
	frames
	alone   int         // requests, up to the last, during which there was no other; for the goroutine that reads
	timer   *time.Timer // calls pass; nil before the first use
	serving atomic.Bool // the goroutine that reads calls a handler

	mu sync.Mutex
	output
	streams streams
	credit  credit // of all bodies together
	ending  ending
	stage   stage
}

// stage is the progress of a connection.
type stage int

const (
	fresh stage = iota // what it speaks is not known yet
	begun
	ended // or given away
)

// ending is how a connection ends.
type ending struct {
	said  bool      // the client was told, and no further streams are taken
	until time.Time // the connection is closed then; zero: when its streams have ended
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
	c.frames.turn.Attach(c.guard)
	c.input.reader, c.input.turn = c.reader, &c.frames.turn
	c.output.window = windowAtFirst
	c.wrote.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(s.base)
	return c
}

// abort closes the connection at once: before handlers hear of it, whose answers would
// otherwise be those to requests that were served.
func (c *conn) abort() {
	_ = c.conn.Close() // whatever it says, the connection is gone
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

// readAll reads frames until the connection ends, or another goroutine reads on.
func (c *conn) readAll() {
	if c.read() {
		return
	}
	c.guard.Yield()
	defer c.server.open.Remove(c)
	c.mu.Lock()
	c.stage = ended
	c.fail(net.ErrClosed)
	c.mu.Unlock()
	c.abort()
	c.streams.handlers.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing { // which has failed
		c.wrote.Wait()
	}
	c.server.load.release(c.streams.share)
}

// recoverPanic is deferred around all that a connection does by itself: a
// mistake in this package costs one connection and not the process.
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

// begin reads the preface and says what the server permits. It reports false if
// the connection is not for this package, or gone.
func (c *conn) begin() bool {
	if c.setReadDeadline(c.server.Now().Add(limits.HeaderTimeout)) != nil {
		c.abort()
		return false
	}
	preface := []byte(frame.ClientPreface)
	for n := 1; n <= len(preface); n++ {
		got, err := c.reader.Peek(n)
		if err != nil { // nothing, or what could only have become the preface
			c.abort()
			return false
		}
		if got[n-1] != preface[n-1] {
			c.handOver()
			return false
		}
	}
	_, _ = c.reader.Discard(len(preface)) // they are there
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
	c.stage, c.streams.ended = begun, c.heard
	limits.NoteRequest(c.conn)
	c.out = appendSettings(c.out,
		frame.Setting{ID: frame.SettingMaxConcurrentStreams, Val: streamsMax},
		frame.Setting{ID: frame.SettingInitialWindowSize, Val: windowOfStream},
		frame.Setting{ID: frame.SettingMaxHeaderListSize, Val: limits.HeaderBytesMax})
	c.out = appendWindowUpdate(c.out, 0, windowOfConn-windowAtFirst)
	return c.flush(false) == nil
}

// handOver gives the connection away with what was read of it.
func (c *conn) handOver() {
	c.mu.Lock()
	given := c.stage == fresh
	c.stage = ended
	c.mu.Unlock()
	if !given {
		return
	}
	read, _ := c.reader.Peek(c.reader.Buffered()) // they are there
	_ = c.conn.SetDeadline(time.Time{})           // fails only on a connection that is gone, as reading it will
	c.server.Others(http1.Replayed(c.conn, bytes.Clone(read)))
}

// refuse answers a mistake of the client. It reports false if that ends the connection.
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

// breakOff tells the client of its mistake, and gives it time to read that: closing a
// connection with unread input takes back what was written.
func (c *conn) breakOff(code frame.ErrCode) {
	c.guard.Yield()
	c.cancel()
	c.mu.Lock()
	c.out = appendGoAway(c.out, c.streams.last, code)
	err := c.flush(true)
	c.ending.said = true
	c.ending.until = c.server.Now().Add(lingering)
	c.mu.Unlock()
	if err == nil && c.setReadDeadline(c.ending.until) == nil {
		_, _ = io.Copy(io.Discard, c.conn) // until the end of that time
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
	if len(c.streams.open) == 0 { // a connection that waits needs little
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
		c.sayEnd(now)
		next = c.ending.until
	case !now.Before(next):
		c.pinged, next = now, now.Add(pingTimeout)
		c.out = appendPing(c.out, false, [8]byte{'s', 'i', 'l', 'e', 'n', 't'})
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

// leave tells the client to send no further requests here.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sayEnd(c.server.Now())
	_ = c.flush(false) // an error ends the connection anyway
}

// endIfIdle is leave for a connection without requests.
func (c *conn) endIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage == begun && len(c.streams.open) == 0 {
		c.sayEnd(c.server.Now())
		_ = c.flush(false) // an error ends the connection anyway
	}
}

// sayEnd says that no further streams are taken, and lets the connection end as soon as it
// has none. It needs the mutex.
func (c *conn) sayEnd(now time.Time) {
	if c.stage != begun {
		if c.stage == fresh { // nothing was said yet by either side
			c.stage = ended
			_ = c.conn.Close() // whatever it says, the connection is gone
		}
		return
	}
	if !c.ending.said {
		c.ending.said = true
		c.out = appendGoAway(c.out, c.streams.last, frame.ErrCodeNo)
	}
	if len(c.streams.open) == 0 && c.ending.until.IsZero() {
		c.ending.until = now.Add(lingering)
		_ = c.conn.SetReadDeadline(c.ending.until) // an error ends the connection anyway
	}
}
