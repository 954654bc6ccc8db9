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

	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// deadlineSlack is added to deadlines, because moving one costs as much as parsing a small
// request.
const deadlineSlack = 30 * time.Second

// States of a connection. Shutdown closes idle ones only.
const (
	connIdle uint32 = iota
	connActive
	connClosed
)

// conn is one connection and its current request. Its parts are reused for each request, so a
// handler must not keep them. Used by the goroutine of serve unless a comment says otherwise.
type conn struct {
	server   *Server
	accepted net.Conn
	conn     net.Conn        // accepted, or TLS above it
	ctx      context.Context // of all requests of the connection
	cancel   context.CancelFunc
	state    atomic.Uint32 // also changed by shutdown
	once     sync.Once     // of close

	handshake *handshakeConn // between accepted and TLS; nil without

	input      input
	readUntil  time.Time // deadlines as set; zero: none
	writeUntil time.Time
	truncated  bool // the body is incomplete: the connection ends with the answer
	noted      bool // the listener knows of the first request

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
	c.input.turn.Attach(unverified.Of(accepted))
	c.ctx, c.cancel = context.WithCancel(connections.With(unverified.With(s.base, &c.input.turn), accepted))
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
	c.once.Do(func() { _ = c.conn.Close() }) // the connection is gone in any case
}

// abort closes the connection without the alert of TLS, which would wait for a client that does
// not read.
func (c *conn) abort() { _ = c.accepted.Close() }

// recoverPanic is deferred around the code of this package: a panic costs one connection, not
// the process.
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

// step is the next step of a connection.
type step uint8

const (
	ended      step = iota // close it
	handedOver             // net/http serves it
	suspended              // the goroutine that resumes the request continues
	next                   // serve the next request
)

// serve answers requests until the connection ends, is handed over or suspended.
func (c *conn) serve() { c.run(c.prepare) }

// run executes a first step, then answers requests as serve does.
func (c *conn) run(first func() step) {
	is := ended
	defer func() {
		if is == suspended {
			return
		}
		c.input.turn.Release()
		_ = c.take(0) // returns the bytes of the buffer to the budget
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

// prepare prepares the connection for its first request.
func (c *conn) prepare() step {
	switch plain, err := c.begin(); {
	case err != nil:
		return ended
	case !plain:
		c.handOver(c.conn)
		return handedOver
	}
	return next
}

// serveRequest serves the next request. After an error no client is left to answer.
func (c *conn) serveRequest() step {
	ours, err := c.receive()
	c.noteRequest(err)
	switch {
	case err != nil:
		return ended
	case !ours:
		c.input.turn.Release()
		c.handOver(Replayed(c.conn, c.input.unused()))
		return handedOver
	}
	return c.handle()
}

// begin makes the TLS handshake, if any, and sets the first deadline. It reports false if the
// client has chosen another protocol than HTTP/1.1.
func (c *conn) begin() (plain bool, err error) {
	until := c.server.Now().Add(limits.HeaderTimeout)
	secure, ok := c.conn.(*tls.Conn)
	if !ok {
		return true, c.setReadDeadline(until)
	}
	if err := secure.SetDeadline(until); err != nil {
		return false, err
	}
	if err := c.tlsHandshake(secure); err != nil {
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

// tlsHandshake makes the TLS handshake in a turn. The turn ends even if the handshake panics.
func (c *conn) tlsHandshake(secure *tls.Conn) error {
	c.handshake.begin()
	defer c.handshake.end()
	return secure.HandshakeContext(c.ctx)
}

// noteRequest reports the first request to the listener, or that none came in time.
func (c *conn) noteRequest(err error) {
	if c.noted {
		return
	}
	if err != nil {
		c.refuseLate(limits.RefusedSilent, err)
		return
	}
	if c.request.Host != "" { // a request for net/http may be incomplete
		c.noted = true
		limits.NoteRequest(c.accepted)
	}
}

// answerWithoutTLS answers a client that speaks HTTP to a port with TLS, as net/http does.
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

// handOver passes the connection to net/http.
func (c *conn) handOver(to net.Conn) {
	_ = c.conn.SetDeadline(time.Time{}) // fails only if the connection is gone
	c.server.Handover(to)
}

// endRequest prepares the connection for its next request. It reports false if the connection
// ends.
func (c *conn) endRequest() bool {
	c.forgetRequest()
	c.input.lineEnds = lineEndsMax
	c.input.skipLineEnds()
	if err := c.shrink(); err != nil {
		return false
	}
	if c.input.start == c.input.end {
		c.state.Store(connIdle)
	}
	// The server sets closes before it looks for idle connections, so one of the two sees the
	// other.
	return !c.server.closes.Load()
}

// forgetRequest releases the text of the request: thousands of connections may be idle.
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

// extendToIdle moves the read deadline behind the handler, during which only the watch reads,
// and behind the idle time after it.
func (c *conn) extendToIdle(now time.Time) error {
	if c.readUntil.Sub(now) >= limits.IdleTimeout {
		return nil
	}
	return c.setReadDeadline(now.Add(limits.IdleTimeout + deadlineSlack))
}

// handle calls the handler and sends its answer, unless the handler suspends the request.
func (c *conn) handle() step {
	if c.extendToIdle(c.server.Now()) != nil {
		return ended
	}
	c.answer.reset()
	if len(bytes.TrimLeft(c.input.unused(), "\r\n")) == 0 { // otherwise the next request is already there
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

// execute executes a part of the handler. It reports false after a panic.
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
func (c *conn) finish() step {
	if c.watch.end() {
		c.answer.drop()
		return ended
	}
	err := c.answer.finish()
	c.input.turn.End(c.request.ContentLength)
	c.refuseLate(limits.RefusedSlow, err)
	if err != nil || c.closing() || !c.endRequest() {
		return ended
	}
	return next
}

// closing reports whether the connection ends with the answer to this request.
func (c *conn) closing() bool { return c.truncated || c.server.closes.Load() }
