package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// deadlineSlack: moving a deadline costs as much as parsing a small request, so
// it is set this much further than it has to be.
const deadlineSlack = 30 * time.Second

// States of a connection, of which shutdown may end an idle one only.
const (
	connIdle uint32 = iota
	connActive
	connClosed
)

// conn is one connection and the request it carries. Its parts are made once
// and used for each request, so no handler may keep any. Used by the goroutine
// of serve, except where said.
type conn struct {
	server   *Server
	accepted net.Conn
	conn     net.Conn        // accepted, or TLS above it
	ctx      context.Context // of all requests of the connection
	cancel   context.CancelFunc
	state    atomic.Uint32 // also changed by shutdown
	once     sync.Once     // of close

	handshake *handshakeConn // between accepted and TLS; nil without

	input
	readUntil  time.Time // deadlines as set; zero: none
	writeUntil time.Time
	truncated  bool // the body did not come whole: the connection ends with the answer
	noted      bool // the listener knows that a request came

	request *http.Request
	url     url.URL
	values  []string // of the request's header
	body    Body
	answer  answer
	watch   peerWatch

	suspension suspension // of the request
}

func newConn(s *Server, accepted net.Conn) *conn {
	c := &conn{server: s, accepted: accepted, conn: accepted}
	if s.TLS != nil {
		c.handshake = &handshakeConn{Conn: accepted, turns: s.turns}
		c.conn = tls.Server(c.handshake, s.TLS)
	}
	c.turn.Attach(unverified.Of(accepted))
	c.ctx, c.cancel = context.WithCancel(unverified.With(s.base, &c.turn))
	c.request = (&http.Request{
		Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, URL: &c.url, Body: &c.body,
		Header: make(http.Header), RemoteAddr: accepted.RemoteAddr().String(),
	}).WithContext(c.ctx)
	c.answer = answer{conn: c, header: make(http.Header)}
	c.watch = peerWatch{conn: c, ended: make(chan struct{}, 1)}
	return c
}

// close ends the connection. It may be called from any goroutine.
func (c *conn) close() {
	c.once.Do(func() { _ = c.conn.Close() }) // whatever it says, the connection is gone
}

// abort is close without the last word of TLS, for which a client that does not
// read makes it wait.
func (c *conn) abort() { _ = c.accepted.Close() }

// recoverPanic is deferred around all that a connection does by itself: a
// mistake in this package costs one connection and not the process.
func (c *conn) recoverPanic() {
	panicked := recover()
	if panicked == nil {
		return
	}
	c.server.panics.Add(1)
	c.server.Logger.Error("panic while serving a connection, which is closed", "remote", c.request.RemoteAddr,
		"panic", panicked, "stack", string(debug.Stack()))
	c.abort()
}

// course is the next step of a connection.
type course uint8

const (
	ended      course = iota // it is to be closed
	handedOver               // to net/http
	suspended                // the goroutine that resumes its request continues the connection
	next                     // its next request is to be served
)

// serve answers requests until the connection ends, is handed over or suspended.
func (c *conn) serve() { c.run(c.greet) }

// run is serve, from a first step on.
func (c *conn) run(first func() course) {
	is := ended
	defer func() {
		if is == suspended {
			return
		}
		c.turn.Release()
		_ = c.take(0) // releases what the buffer holds of the budget
		c.cancel()
		c.server.open.Remove(c)
	}()
	defer c.recoverPanic()
	for is = first(); is == next; {
		is = c.serveRequest()
	}
	if is == ended {
		c.close()
	}
}

// greet begins the connection.
func (c *conn) greet() course {
	switch plain, err := c.begin(); {
	case err != nil:
		return ended
	case !plain:
		c.handOver(c.conn)
		return handedOver
	}
	return next
}

// serveRequest serves the next request. After an error nobody is left, or nobody who
// could be told.
func (c *conn) serveRequest() course {
	ours, err := c.receive()
	c.noteRequest(err)
	switch {
	case err != nil:
		return ended
	case !ours:
		c.turn.Release()
		c.handOver(Replayed(c.conn, c.buffer[c.start:c.end]))
		return handedOver
	}
	return c.handle()
}

// begin makes the TLS handshake, if any, and sets the first deadline. It
// reports false if the client wants to speak something other than HTTP/1.1.
func (c *conn) begin() (plain bool, err error) {
	until := c.server.Now().Add(limits.HeaderTimeout)
	secure, ok := c.conn.(*tls.Conn)
	if !ok {
		return true, c.setReadDeadline(until)
	}
	if err := secure.SetDeadline(until); err != nil {
		return false, err
	}
	if err := c.shakeHands(secure); err != nil {
		c.refuseHandshake(err)
		answerWithoutTLS(err)
		return false, err
	}
	if err := secure.SetWriteDeadline(time.Time{}); err != nil {
		return false, err
	}
	state := secure.ConnectionState()
	if p := state.NegotiatedProtocol; p != "" && p != "http/1.1" {
		return false, nil
	}
	c.request.TLS = &state
	return true, c.setReadDeadline(c.server.Now().Add(limits.HeaderTimeout))
}

// shakeHands makes the handshake of TLS, when it has a turn for that. A panic leaves the turn, too.
func (c *conn) shakeHands(secure *tls.Conn) error {
	c.handshake.begin()
	defer c.handshake.end()
	return secure.HandshakeContext(c.ctx)
}

// noteRequest tells the listener of the first request, and of a connection on which none came.
func (c *conn) noteRequest(err error) {
	if c.noted {
		return
	}
	if err != nil {
		c.refuseLate(limits.RefusedSilent, err)
		return
	}
	if c.request.Host != "" { // what net/http is to serve may not be whole
		c.noted = true
		limits.NoteRequest(c.accepted)
	}
}

// answerWithoutTLS tells a client that speaks HTTP to a port with TLS, as
// net/http does.
func answerWithoutTLS(err error) {
	var wrong tls.RecordHeaderError
	if !errors.As(err, &wrong) || wrong.Conn == nil {
		return
	}
	switch string(wrong.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		_, _ = io.WriteString(wrong.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	}
}

// handOver hands the connection over to net/http.
func (c *conn) handOver(to net.Conn) {
	_ = c.conn.SetDeadline(time.Time{}) // fails only on a connection that is gone, as reading it will
	c.server.Handover(to)
}

// endRequest makes the connection ready for its next request. It reports false
// if there is to be none.
func (c *conn) endRequest() bool {
	c.forgetRequest()
	c.lineEnds = lineEndsMax
	c.skipLineEnds()
	if err := c.shrink(); err != nil {
		return false
	}
	if c.start == c.end {
		c.state.Store(connIdle)
	}
	// The server says that connections are to end before it looks for idle
	// ones, so that one of the two looks sees the other.
	return !c.server.closes.Load()
}

// forgetRequest lets go of the request's text: thousands of connections wait
// for their next one.
func (c *conn) forgetRequest() {
	clear(c.request.Header)
	clear(c.values)
	c.values = c.values[:0]
	c.request.Host, c.request.RequestURI, c.url.Path = "", "", ""
	c.body = Body{}
}

func (c *conn) setReadDeadline(until time.Time) error {
	c.readUntil = until
	return c.conn.SetReadDeadline(until)
}

// extendToIdle makes the deadline of reading far enough for the handling of a
// request, in which only the watch reads, and the wait for the next one.
func (c *conn) extendToIdle(now time.Time) error {
	if c.readUntil.Sub(now) >= limits.IdleTimeout {
		return nil
	}
	return c.setReadDeadline(now.Add(limits.IdleTimeout + deadlineSlack))
}

// handle calls the handler and sends its answer, unless the handler suspends the request.
func (c *conn) handle() course {
	if c.extendToIdle(c.server.Now()) != nil {
		return ended
	}
	c.answer.reset()
	if len(bytes.TrimLeft(c.buffer[c.start:c.end], "\r\n")) == 0 { // else the next request is there, and its client may have left
		c.watch.begin()
	}
	if !c.execute(func() { c.server.Handler.ServeHTTP(&c.answer, c.request) }) {
		return ended
	}
	if c.suspension.rest != nil {
		return c.suspend()
	}
	return c.finish()
}

// execute executes a part of the handler. It reports false if that panicked.
func (c *conn) execute(part func()) (ok bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			if err, ok := panicked.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				c.server.Logger.Error("panic in a request handler", "panic", panicked, "stack", string(debug.Stack()))
			}
			c.watch.end()
			c.answer.drop()
			ok = false
		}
	}()
	part()
	return true
}

// finish sends the answer of the handler.
func (c *conn) finish() course {
	if c.watch.end() {
		c.answer.drop()
		return ended
	}
	err := c.answer.finish()
	c.turn.End(c.request.ContentLength)
	c.refuseLate(limits.RefusedSlow, err)
	if err != nil || c.closing() || !c.endRequest() {
		return ended
	}
	return next
}

// closing reports whether the connection ends with the answer to this request.
func (c *conn) closing() bool { return c.truncated || c.server.closes.Load() }
